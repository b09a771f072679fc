"""
A table's score, column by column
=================================

`rosenblatt train` makes curves of single columns and surfaces of two, and the score of a row is
their sum. The most important parts come first; the number in a title is the mean size of the part.
Grey: where the rows are. Here the rows are generated so that one knows what should come out: a wave
of *hour*, a step of *load*, a saddle of *north* and *east*, and a column that does nothing.
"""

import numpy as np

from rosenblatt import train
from rosenblatt.viz import ShapeDisplay

random = np.random.default_rng(0)
hour, load = random.uniform(0, 24, 4000), random.exponential(1.0, 4000)
north, east, noise = random.normal(size=(3, 4000))
score = np.sin(hour / 24 * 2 * np.pi) + 2.0 * (load > 1.5) - 0.5 + north * east
frame = {"hour": hour, "load": load, "north": north, "east": east, "noise": noise}
frame["state"] = np.where(score + 0.3 * random.normal(size=4000) > 0, "high", "low")
ShapeDisplay.from_model(train(frame, label="state"), frame, top=6)
