"""A run with its arithmetic spelled out: every step, and the proof that it must end.

The steps come from :mod:`rosenblatt.reference`, where the conventions are stated. Here they get
names, words, and the quantities of the convergence proof.
"""

from rosenblatt.tracing.problem import Problem
from rosenblatt.tracing.proof import Proof, ProofPoint, prove
from rosenblatt.tracing.record import Trace, trace
from rosenblatt.tracing.run import Run, Step

__all__ = [
    "Problem",
    "Proof",
    "ProofPoint",
    "Run",
    "Step",
    "Trace",
    "prove",
    "trace",
]
