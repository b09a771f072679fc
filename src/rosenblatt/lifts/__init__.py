"""Lifts: maps φ of rows to more features, after which a hyperplane may do what it could not before.

A lift is a record (:mod:`.registry`). Tables are lifted by knots and pairs of columns, which
``rosenblatt train`` stores in the model (:mod:`.tables`), and :class:`Lift` makes a transformer of.
"""

from rosenblatt._lazy import lazily

_HOME = {
    "LIFTS": f"{__name__}.registry",
    "Lift": f"{__name__}.transformer",
    "TableLift": f"{__name__}.tables",
}
__getattr__, __dir__ = lazily(__name__, _HOME, globals())
