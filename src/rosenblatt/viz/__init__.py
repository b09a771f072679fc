"""Plots of a perceptron: its boundary, its run, and the proof that it ends.

Each display follows scikit-learn's conventions: build it with ``from_estimator``, ``from_trace``
or another ``from_...``, draw it with ``plot(ax=...)``, find the result under ``ax_`` and
``figure_``. They need matplotlib: ``pip install ".[plot]"``.
"""

from rosenblatt.viz.animation import animate
from rosenblatt.viz.boundary import BoundaryDisplay
from rosenblatt.viz.contradiction import ContradictionDisplay
from rosenblatt.viz.margins import MarginsDisplay
from rosenblatt.viz.progress import ComparisonDisplay, EpochsDisplay
from rosenblatt.viz.proof import BoundsDisplay, ProofDisplay
from rosenblatt.viz.shapes import ShapeDisplay
from rosenblatt.viz.weights import TopWordsDisplay, WeightSpaceDisplay

__all__ = [
    "BoundaryDisplay",
    "BoundsDisplay",
    "ComparisonDisplay",
    "ContradictionDisplay",
    "EpochsDisplay",
    "MarginsDisplay",
    "ProofDisplay",
    "ShapeDisplay",
    "TopWordsDisplay",
    "WeightSpaceDisplay",
    "animate",
]
