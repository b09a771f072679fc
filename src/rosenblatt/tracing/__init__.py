"""A run with its arithmetic spelled out: every step, and the proof that it must end.

The steps come from :mod:`rosenblatt.reference`, which states the conventions. This package adds
the names of rows and features, the sentences, and the quantities of the convergence proof.
"""

from rosenblatt.tracing.problem import TraceProblem
from rosenblatt.tracing.proof import Proof, ProofPoint, prove
from rosenblatt.tracing.record import Trace, trace
from rosenblatt.tracing.run import TraceRun, TraceStep
from rosenblatt.tracing.tables import SmallTable, parse_csv, read_csv

__all__ = [
    "Proof",
    "ProofPoint",
    "SmallTable",
    "Trace",
    "TraceProblem",
    "TraceRun",
    "TraceStep",
    "parse_csv",
    "prove",
    "read_csv",
    "trace",
]
