"""The options of `rosenblatt train` alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rosenblatt.cli.options import FEATURES, INPUT, LEARNING, LONG_RUNS, OUTPUT

Files = Annotated[list[str], typer.Argument(help="Files, patterns, or - for standard input.")]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        help="The model file; by default FILE with the ending .model.",
        rich_help_panel=OUTPUT,
    ),
]
Valid = Annotated[
    list[str] | None,
    typer.Option(help="Files that decide the number of epochs.", rich_help_panel=LEARNING),
]
Epochs = Annotated[
    int | None,
    typer.Option(
        min=1, help="How many; by default a held-out tenth decides.", rich_help_panel=LEARNING
    ),
]
Averaged = Annotated[
    bool,
    typer.Option(
        "--averaged/--last",
        help="Average the weights, or take the last.",
        rich_help_panel=LEARNING,
    ),
]
Rule = Annotated[
    str,
    typer.Option(
        help="What learns: perceptron, arow, pa1, scw1:C=0.5 and so on.",
        rich_help_panel=LEARNING,
    ),
]
Threshold = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        help="Correct a row when its margin is at most this; 2, tables 4.",
        rich_help_panel=LEARNING,
    ),
]
Multiclass = Annotated[
    str | None,
    typer.Option(
        help="ovr: each class against the rest; joint (tables): the best other.",
        rich_help_panel=LEARNING,
    ),
]
Tune = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Choose settings and train in this time: 60s, 5m.",
        rich_help_panel=LEARNING,
    ),
]
Ngrams = Annotated[
    str | None,
    typer.Option(
        metavar="N or N-M",
        help="N-grams of up to N words, or of N to M; 1-2 by default, 3-5 characters.",
        rich_help_panel=FEATURES,
    ),
]
Chars = Annotated[
    bool,
    typer.Option(
        "--chars",
        help="N-grams of characters within words instead.",
        rich_help_panel=FEATURES,
    ),
]
Bits = Annotated[
    int | None,
    typer.Option(
        min=8, max=30, help="Hash to 2^BITS columns; 22 by default.", rich_help_panel=FEATURES
    ),
]
Holdout = Annotated[
    float | None,
    typer.Option(min=0.0, max=0.9, help="Share of rows to hold out.", rich_help_panel=LEARNING),
]
Label = Annotated[
    str | None,
    typer.Option(
        "--label",
        "-l",
        help="Label column: its name, or its position from 1 (-1 is the last). Default: label. "
        "A,B,C: columns of 0 and 1, one per label.",
        rich_help_panel=INPUT,
    ),
]
LabelSeparator = Annotated[
    str | None,
    typer.Option(
        help="What separates labels, where a row may have several.", rich_help_panel=INPUT
    ),
]
Weight = Annotated[
    str | None,
    typer.Option(help="A column: how many copies each row stands for.", rich_help_panel=LEARNING),
]
ClassWeight = Annotated[
    str | None,
    typer.Option(help="Weights of classes: balanced, or a=2,b=1.", rich_help_panel=LEARNING),
]
Calibrate = Annotated[
    str,
    typer.Option(
        help="Probabilities from held-out rows: sigmoid, isotonic or none.",
        rich_help_panel=LEARNING,
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        help="What the threshold between two classes is to reach on held-out rows: "
        "precision=0.95, recall=0.9 or f1; for the second class, or LABEL:precision=0.95.",
        rich_help_panel=LEARNING,
    ),
]
Seed = Annotated[
    int,
    typer.Option(min=0, help="Decides orders and held-out rows.", rich_help_panel=LEARNING),
]
Memory = Annotated[
    int,
    typer.Option(
        min=1,
        help="MB of hashed rows to keep in memory; more go to disk.",
        rich_help_panel=LONG_RUNS,
    ),
]
Checkpoint = Annotated[
    Path | None,
    typer.Option(help="A folder to save the run in while it goes on.", rich_help_panel=LONG_RUNS),
]
Every = Annotated[
    float,
    typer.Option(min=0.0, help="Seconds between two checkpoints.", rich_help_panel=LONG_RUNS),
]
EveryRows = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Rows between two checkpoints, whatever the time.",
        rich_help_panel=LONG_RUNS,
    ),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Go on with the run saved in the checkpoint folder.",
        rich_help_panel=LONG_RUNS,
    ),
]
Start = Annotated[
    Path | None,
    typer.Option("--from", help="A model file to go on from.", rich_help_panel=LONG_RUNS),
]
Jobs = Annotated[
    int, typer.Option(help="Threads that learn; -1 is all cores.", rich_help_panel=LONG_RUNS)
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run", help="Only say what the columns are taken for.", rich_help_panel=OUTPUT
    ),
]
