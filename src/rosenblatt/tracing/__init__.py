"""Every step of a run with its arithmetic, and the convergence proof along the run.

The steps come from :mod:`rosenblatt.reference`, which states the conventions. This package adds
names of rows and features, sentences, and the quantities of the convergence proof.
"""

from rosenblatt.tracing.multiclass import ClassTraces, trace_classes
from rosenblatt.tracing.problem import TraceProblem
from rosenblatt.tracing.proof import Proof, ProofPoint, prove
from rosenblatt.tracing.record import Trace, trace
from rosenblatt.tracing.run import TraceRun, TraceStep

__all__ = [
    "ClassTraces",
    "Proof",
    "ProofPoint",
    "Trace",
    "TraceProblem",
    "TraceRun",
    "TraceStep",
    "prove",
    "trace",
    "trace_classes",
]
