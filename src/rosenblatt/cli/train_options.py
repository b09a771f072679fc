"""The options of `rosenblatt train` alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rosenblatt.cli.options import FEATURES, INPUT, LEARNING, LONG_RUNS, OUTPUT, option

Files = Annotated[list[str], typer.Argument(help="Files, patterns, or - for standard input.")]
Out = Annotated[
    Path | None,
    option(OUTPUT, "The model file; by default FILE with the ending .model.", "--out", "-o"),
]
Valid = Annotated[list[str] | None, option(LEARNING, "Files that decide the number of epochs.")]
Epochs = Annotated[
    int | None, option(LEARNING, "How many; by default a held-out tenth decides.", min=1)
]
Averaged = Annotated[
    bool, option(LEARNING, "Average the weights, or take the last.", "--averaged/--last")
]
Rule = Annotated[str, option(LEARNING, "What learns: perceptron, arow, pa1, scw1:C=0.5 and so on.")]
Threshold = Annotated[
    float | None,
    option(LEARNING, "Correct a row when its margin is at most this; 2, tables 4.", min=0.0),
]
Multiclass = Annotated[
    str | None,
    option(LEARNING, "ovr: each class against the rest; joint (tables): the best other."),
]
Tune = Annotated[
    str | None, option(LEARNING, "Choose settings and train in this time: 60s, 5m.", metavar="TIME")
]
Ngrams = Annotated[
    str | None,
    option(
        FEATURES,
        "N-grams of up to N words, or of N to M; 1-2 by default, 3-5 characters.",
        metavar="N or N-M",
    ),
]
Chars = Annotated[bool, option(FEATURES, "N-grams of characters within words instead.", "--chars")]
Bits = Annotated[
    int | None, option(FEATURES, "Hash to 2^BITS columns; 22 by default.", min=8, max=30)
]
Holdout = Annotated[float | None, option(LEARNING, "Share of rows to hold out.", min=0.0, max=0.9)]
Label = Annotated[
    str | None,
    option(
        INPUT,
        "Label column: its name, or its position from 1 (-1 is the last). Default: label. "
        "A,B,C: columns of 0 and 1, one per label.",
        "--label",
        "-l",
    ),
]
LabelSeparator = Annotated[
    str | None, option(INPUT, "What separates labels, where a row may have several.")
]
Weight = Annotated[str | None, option(LEARNING, "A column: how many copies each row stands for.")]
ClassWeight = Annotated[str | None, option(LEARNING, "Weights of classes: balanced, or a=2,b=1.")]
Calibrate = Annotated[
    str, option(LEARNING, "Probabilities from held-out rows: sigmoid, isotonic or none.")
]
Target = Annotated[
    str | None,
    option(
        LEARNING,
        "What the threshold between two classes is to reach on held-out rows: "
        "precision=0.95, recall=0.9 or f1; for the second class, or LABEL:precision=0.95.",
    ),
]
Seed = Annotated[int, option(LEARNING, "Decides orders and held-out rows.", min=0)]
Memory = Annotated[
    int, option(LONG_RUNS, "MB of hashed rows to keep in memory; more go to disk.", min=1)
]
Checkpoint = Annotated[
    Path | None, option(LONG_RUNS, "A folder to save the run in while it goes on.")
]
Every = Annotated[float, option(LONG_RUNS, "Seconds between two checkpoints.", min=0.0)]
EveryRows = Annotated[
    int | None, option(LONG_RUNS, "Rows between two checkpoints, whatever the time.", min=1)
]
Resume = Annotated[
    bool, option(LONG_RUNS, "Go on with the run saved in the checkpoint folder.", "--resume")
]
Start = Annotated[Path | None, option(LONG_RUNS, "A model file to go on from.", "--from")]
Jobs = Annotated[int, option(LONG_RUNS, "Threads that learn; -1 is all cores.")]
DryRun = Annotated[bool, option(OUTPUT, "Only say what the columns are taken for.", "--dry-run")]
