"""What the commands do, in Python: train, tune, predict and evaluate on files of any size."""
