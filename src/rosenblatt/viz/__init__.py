"""Plots of a perceptron: its boundary, its run, and the proof that it ends.

Each display follows scikit-learn's conventions: build it with ``from_estimator``, ``from_trace``
or another ``from_...``, draw it with ``plot(ax=...)``, find the result under ``ax_`` and
``figure_``. They need matplotlib: ``pip install ".[plot]"``.
"""

from rosenblatt.viz.animation import animate
from rosenblatt.viz.boundary import BoundaryDisplay
from rosenblatt.viz.bounds import BoundsDisplay
from rosenblatt.viz.comparison import ComparisonDisplay
from rosenblatt.viz.contradiction import ContradictionDisplay
from rosenblatt.viz.criterion import CriterionDisplay
from rosenblatt.viz.epochs import EpochsDisplay
from rosenblatt.viz.margins import MarginsDisplay
from rosenblatt.viz.proof import PotentialDisplay, ProofDisplay
from rosenblatt.viz.risk import OverfittingDisplay, VCBoundDisplay
from rosenblatt.viz.weight_space import WeightSpaceDisplay
from rosenblatt.viz.words import TopWordsDisplay

__all__ = [
    "BoundaryDisplay",
    "BoundsDisplay",
    "ComparisonDisplay",
    "ContradictionDisplay",
    "CriterionDisplay",
    "EpochsDisplay",
    "MarginsDisplay",
    "OverfittingDisplay",
    "PotentialDisplay",
    "ProofDisplay",
    "TopWordsDisplay",
    "VCBoundDisplay",
    "WeightSpaceDisplay",
    "animate",
]
