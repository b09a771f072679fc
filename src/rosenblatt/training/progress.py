"""The progress of a run: its record, epoch by epoch, and its state besides that of the learner."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from rosenblatt.cycles import CycleFinder
from rosenblatt.learners.protocol import Tally


@dataclass(frozen=True)
class Epoch:
    """One pass over the examples; unknown values are NaN.

    Attributes
    ----------
    epoch : int
        Its number, from 1.
    updates : int
        Updates of all classes.
    updated_rows : int
        Visits at which anything was corrected.
    mistakes : int
        Wrong predictions, each made before learning from the row.
    progressive_error : float
        Their share of the visits.
    train_error : float
        Share of all rows misclassified by the current weights, if the run counted them.
    validation_error : float
        Share of the validation rows misclassified by the weights to keep.
    weight_norm, relative_change : float
        Norm of all weights and biases, and of their change in this epoch relative to it.
    seconds : float
        Duration of the epoch, without compiling.
    """

    epoch: int
    updates: int
    updated_rows: int = 0
    mistakes: float = math.nan
    progressive_error: float = math.nan
    train_error: float = math.nan
    validation_error: float = math.nan
    weight_norm: float = math.nan
    relative_change: float = math.nan
    seconds: float = math.nan


class History(Sequence[Epoch]):
    """The epochs of a run, in order; a column of them by its name.

    Examples
    --------
    >>> history = History([Epoch(1, updates=3), Epoch(2, updates=0)])
    >>> history["updates"]
    array([3, 0])
    >>> history[-1].epoch
    2
    """

    def __init__(
        self, epochs: Sequence[Epoch] = (), row_updates: npt.NDArray[np.int64] | None = None
    ) -> None:
        self.epochs = tuple(epochs)
        self.row_updates = row_updates
        """After a cycle: the updates of each row between the two equal weights."""

    @overload
    def __getitem__(self, key: int) -> Epoch: ...
    @overload
    def __getitem__(self, key: slice) -> History: ...
    @overload
    def __getitem__(self, key: str) -> npt.NDArray[Any]: ...
    def __getitem__(self, key: int | slice | str) -> Any:
        if isinstance(key, str):
            if key not in {column.name for column in fields(Epoch)}:
                raise KeyError(f"no column {key!r}; there are {[f.name for f in fields(Epoch)]}")
            return np.array([getattr(epoch, key) for epoch in self.epochs])
        return History(self.epochs[key]) if isinstance(key, slice) else self.epochs[key]

    def __len__(self) -> int:
        return len(self.epochs)

    def __iter__(self) -> Iterator[Epoch]:
        return iter(self.epochs)

    def __add__(self, other: History) -> History:
        return History([*self.epochs, *other.epochs], other.row_updates)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, History) and repr(self.epochs) == repr(other.epochs)

    __hash__ = None  # type: ignore[assignment]

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns by name, for a data frame or a JSON file."""
        return {
            column.name: [asdict(epoch)[column.name] for epoch in self.epochs]
            for column in fields(Epoch)
        }

    def __repr__(self) -> str:
        return f"<History of {len(self)} epochs>"

    def _repr_html_(self) -> str:
        """A table with a row per epoch, of the columns that are known."""
        columns = {k: v for k, v in self.to_dict().items() if any(x == x for x in v)}
        head = "".join(f"<th>{name.replace('_', ' ')}</th>" for name in columns)
        rows = zip(
            *([f"<td>{x:.4g}</td>" for x in column] for column in columns.values()), strict=True
        )
        body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


@dataclass
class Counts:
    """The counts of the current epoch."""

    weight: float = 0.0
    updates: int = 0
    updated_rows: int = 0
    mistakes: float = 0.0
    seconds: float = 0.0


@dataclass
class Kept:
    """The best weights, their error, and the longest run of right answers evaluated so far."""

    weights: Any
    error: float = math.nan
    run: int = 0


@dataclass
class Progress:
    """The progress of a run. Saved and loaded with the learner, it resumes bit for bit.

    Attributes
    ----------
    epoch, position : int
        Completed epochs, and visits of the current epoch.
    steps : float
        Steps so far; an example of weight ω counts for ω.
    visits, updates : int
        Visits and updates so far.
    run : int
        Consecutive right answers.
    counts : Counts
        Counts of the current epoch.
    least_update_rate, epochs_without : float and int
        The fewest updates per step of an epoch, and the epochs without improvement.
    least_validation, validations_without : float and int
        The least validation error, and the epochs without improvement.
    kept : Kept or None
        The best weights so far, by validation or training error.
    cycle : CycleFinder or None
        Detects whether weights recur.
    history : list of Epoch
        The completed epochs.
    stop_reason : str or None
        Why the run ended; None while it has not.
    """

    epoch: int = 0
    position: int = 0
    steps: float = 0.0
    visits: int = 0
    updates: int = 0
    run: int = 0
    counts: Counts = field(default_factory=Counts)
    least_update_rate: float = math.inf
    epochs_without: int = 0
    least_validation: float = math.inf
    validations_without: int = 0
    kept: Kept | None = None
    cycle: CycleFinder | None = None
    history: list[Epoch] = field(default_factory=list)
    row_updates: Any = None
    stop_reason: str | None = None

    def count(self, tally: Tally, seconds: float = 0.0) -> None:
        """Add the result of a walk."""
        self.position += tally.visits
        self.visits += tally.visits
        self.steps += tally.weight
        self.updates += tally.updates
        self.run = tally.run
        counts = self.counts
        counts.weight += tally.weight
        counts.updates += tally.updates
        counts.updated_rows += tally.updated_rows
        counts.mistakes += tally.mistakes
        counts.seconds += seconds

    def begin_again(self) -> None:
        """Restart the current epoch: subtract its visits."""
        self.steps -= self.counts.weight
        self.visits -= self.position
        self.updates -= self.counts.updates
        self.position, self.run = 0, 0
        self.counts = Counts()
