"""A run with its arithmetic spelled out: every step, and the proof that it must end.

The steps come from :mod:`rosenblatt.reference`, which states the conventions. This package adds
the names of rows and features, the sentences, and the quantities of the convergence proof.
"""

from rosenblatt.tracing.kept import Pocket, PocketState, RunningAverage
from rosenblatt.tracing.multiclass import ClassTraces, Decision, trace_classes
from rosenblatt.tracing.problem import TraceProblem
from rosenblatt.tracing.proof import Proof, ProofPoint, prove
from rosenblatt.tracing.record import Trace, trace
from rosenblatt.tracing.run import TraceRun, TraceStep

__all__ = [
    "ClassTraces",
    "Decision",
    "Pocket",
    "PocketState",
    "Proof",
    "ProofPoint",
    "RunningAverage",
    "Trace",
    "TraceProblem",
    "TraceRun",
    "TraceStep",
    "prove",
    "trace",
    "trace_classes",
]
