"""`python -m rosenblatt` is the command-line program."""

from rosenblatt.cli import main

main()
