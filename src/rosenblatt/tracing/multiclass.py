"""Problems with several classes: a trace per binary classifier, and their joint decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from rosenblatt.errors import counted
from rosenblatt.reference import dot
from rosenblatt.tracing import words
from rosenblatt.tracing.problem import column_names, plain_rows, plain_values
from rosenblatt.tracing.record import Trace, trace
from rosenblatt.tracing.render import Printed
from rosenblatt.tracing.words import Block, Heading, Line, Math, Paragraph, TraceTable, number

SCHEMES = ("one-vs-one", "one-vs-all")


@dataclass(frozen=True)
class Decision:
    """The joint decision of the classifiers about one row.

    Attributes
    ----------
    scores
        The score of each classifier.
    votes
        One-vs-one: how many classifiers chose each class. One-vs-all: None.
    prediction
        One-vs-one: the class with the most votes; ties go to the larger sum of scores.
        One-vs-all: the class with the largest score.
    """

    scores: dict[str, Any]
    votes: dict[Any, int] | None
    prediction: Any


class ClassTraces(Printed):
    """One trace per binary classifier of a problem with several classes.

    Made by :func:`trace_classes`.

    Attributes
    ----------
    scheme : {"one-vs-one", "one-vs-all"}
        How the problem is reduced to binary ones.
    classes : tuple
        The labels, sorted.
    traces : dict of str to Trace
        The traces by classifier name, such as ``"a vs b"``, where a counts as +1.

    Examples
    --------
    >>> from rosenblatt import teaching_sets
    >>> corners = teaching_sets.load("triangle")
    >>> run = trace_classes(corners.X, corners.y)
    >>> run
    <ClassTraces: one-vs-one, 3 classes, 3 classifiers>
    >>> run.decide((4, 0)).votes, run.decide((4, 0)).prediction
    ({0: 0, 1: 2, 2: 1}, 1)
    """

    def __init__(self, scheme: str, rows: Any, classes: tuple[Any, ...], traces: Any) -> None:
        self.scheme, self.classes = scheme, classes
        self.traces: dict[str, Trace] = {name: run for name, _, _, run in traces}
        self._pairs = {name: (plus, minus) for name, plus, minus, _ in traces}
        self._X, self._y, self._row_names = rows

    def __repr__(self) -> str:
        count = counted(len(self.traces), "classifier")
        return f"<ClassTraces: {self.scheme}, {len(self.classes)} classes, {count}>"

    def decide(self, x: Sequence[Any]) -> Decision:
        """The scores, the votes and the prediction for one row."""
        scores = {name: dot(run.weights, x) + run.bias for name, run in self.traces.items()}
        if self.scheme == "one-vs-all":
            best = max(scores, key=scores.__getitem__)
            return Decision(scores, None, self._pairs[best][0])
        votes, sums = dict.fromkeys(self.classes, 0), dict.fromkeys(self.classes, 0)
        for name, score in scores.items():
            plus, minus = self._pairs[name]
            votes[plus if score > 0 else minus] += 1
            sums[plus] += score
            sums[minus] -= score
        # If both are tied, the first label wins.
        prediction = max(self.classes, key=lambda label: (votes[label], sums[label]))
        return Decision(scores, votes, prediction)

    def _document(self) -> list[Block]:
        decisions = [self.decide(x) for x in self._X]
        wrong = sum(d.prediction != y for d, y in zip(decisions, self._y, strict=True))
        return [
            Heading("The classifiers"),
            self._classifiers(),
            Heading("The votes" if self.scheme == "one-vs-one" else "The scores"),
            self._decisions(decisions),
            Paragraph([f"{wrong} of {counted(len(self._X), 'row')} wrong"]),
        ]

    def _classifiers(self) -> TraceTable:
        header: list[Line] = [["classifier"], ["rows"], ["updates"], ["ended"], ["weights"]]
        rows: list[Sequence[Line]] = []
        for name, run in self.traces.items():
            counts = [str(len(run.problem.X))], [str(run.n_updates)]
            weights = words.weights(run.problem, run.weights, run.bias)
            rows.append([[name], *counts, [run.stop_reason], weights])
        return TraceTable(header, rows)

    def _decisions(self, decisions: Sequence[Decision]) -> TraceTable:
        ballots = self.scheme == "one-vs-one"
        header: list[Line] = [["row"], [Math("y")], *([name] for name in self.traces)]
        header += [[f"votes for {label}"] for label in self.classes] if ballots else []
        rows: list[Sequence[Line]] = []
        for name, y, decision in zip(self._row_names, self._y, decisions, strict=True):
            row: list[Line] = [[name], [str(y)]]
            for classifier, score in decision.scores.items():
                plus, minus = self._pairs[classifier]
                row.append([f"{plus if score > 0 else minus}"] if ballots else [number(score)])
            row += [[str(count)] for count in (decision.votes or {}).values()]
            rows.append([*row, [str(decision.prediction)]])
        return TraceTable([*header, ["predicted"]], rows)


def trace_classes(
    X: Any,
    y: Any,
    *,
    scheme: str = "one-vs-one",
    row_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    **options: Any,
) -> ClassTraces:
    """Trace every binary classifier of a problem with several classes.

    Parameters
    ----------
    X, y
        Rows of numbers and their labels, of any number of classes.
    scheme : {"one-vs-one", "one-vs-all"}
        k(k-1)/2 classifiers, one per pair of classes, which vote; or k classifiers, one per class
        against all others, of which the largest score wins.
    row_names, class_names
        Names of the rows; names for the sorted labels.
    **options
        As for :func:`rosenblatt.trace`.
    """
    if scheme not in SCHEMES:
        raise ValueError(f"scheme must be one of {SCHEMES}, not {scheme!r}")
    options.setdefault("feature_names", column_names(X))
    rows, labels = plain_rows(X), plain_values(y)
    if len(rows) != len(labels):
        raise ValueError(f"X has {len(rows)} rows but y has {len(labels)} labels")
    classes = sorted(set(labels))
    if class_names is not None:
        if len(class_names) != len(classes):
            raise ValueError(f"{len(class_names)} class names do not fit {len(classes)} classes")
        named = dict(zip(classes, class_names, strict=True))
        labels, classes = [named[label] for label in labels], list(class_names)
    if len(classes) < 2:
        raise ValueError(f"several classes are needed, but y holds {len(classes)}")
    names = list(row_names) if row_names is not None else [f"row {i + 1}" for i in range(len(rows))]
    pairs: list[tuple[Any, Any]] = list(combinations(classes, 2))
    if scheme == "one-vs-all":
        pairs = [(label, None) for label in classes]
    traces = []
    for plus, minus in pairs:
        members = [i for i, label in enumerate(labels) if minus is None or label in (plus, minus)]
        signs = [1 if labels[i] == plus else -1 for i in members]
        run = trace(
            [rows[i] for i in members], signs, row_names=[names[i] for i in members], **options
        )
        traces.append((f"{plus} vs {'all' if minus is None else minus}", plus, minus, run))
    return ClassTraces(scheme, (rows, labels, names), tuple(classes), traces)
