"""The log of a service: predictions that may be labelled, and their labels in order.

What is in the log is on disk before it is acknowledged. The model is a function of its start and
of the labels in their order; snapshots only save time. There are two stores: a file of SQLite, and
PostgreSQL (:mod:`rosenblatt.serve.postgres`), which several servers on several machines share.
"""

from __future__ import annotations

import json
import math
import secrets
import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from rosenblatt.atomic_files import acquire_lock
from rosenblatt.errors import DataError, OptionError
from rosenblatt.models import tensorfile
from rosenblatt.serve.online import Event, Online, Start, file_of
from rosenblatt.serve.rows import Row

_SCHEMA = """
CREATE TABLE blobs (name TEXT, part INTEGER, content BLOB, PRIMARY KEY (name, part));
CREATE TABLE predictions (
  id TEXT PRIMARY KEY, at REAL, columns TEXT, features BLOB, predicted TEXT, version BIGINT
);
CREATE TABLE labels (
  position {serial}, id TEXT, at REAL, label TEXT, weight REAL, replaced TEXT
);
CREATE INDEX labels_of_predictions ON labels (id);
"""
LabelRow = tuple[str, float, str, float, str | None]  # id, time, label, weight, what it replaces
_PART = 16 << 20  # bytes of a blob in one row
_SOME = 500  # parameters of a statement


class LogError(RuntimeError):
    """The log cannot be read or written now; nothing of what was asked is in it."""


class Prediction(NamedTuple):
    """A prediction that may be labelled."""

    id: str
    at: float
    row: Row
    predicted: str | None
    version: int


class Known(NamedTuple):
    """What the log has of an id: the prediction, and its last label."""

    predicted: str | None
    label: str | None
    weight: float


def new_id(at: float) -> str:
    """An id that no other prediction has; ids made later sort after it, for the sake of indices."""
    return f"{int(at * 1000):012x}{secrets.token_hex(6)}"


class Log(ABC):
    """A log in some store.

    All methods but :meth:`save_snapshot` are called by one thread at a time.
    """

    name: str  # as messages show it
    is_local = False  # whether no other machine can keep a statement waiting
    serial = "INTEGER PRIMARY KEY AUTOINCREMENT"
    begins: Sequence[str]  # a transaction
    orders: Sequence[str] = ()  # what a transaction with labels does first
    has_tables: str  # the statement whose first answer is true if the log was begun
    errors: type[Exception]
    _connection: Any
    _is_inside = False  # a transaction, whose statements need its connection

    def run(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement with ? for values; returns its rows. LogError if it fails."""
        with self._saying():
            cursor = self._connected().execute(self._adapted(statement), values)
            return cursor.fetchall() if cursor.description else []

    def run_many(self, statement: str, values: Iterable[Sequence[Any]]) -> None:
        """Run a statement for each of several values."""
        with self._saying():
            self._connected().cursor().executemany(self._adapted(statement), values)

    @contextmanager
    def transaction(self, orders: bool = False) -> Iterator[None]:
        """All or nothing of what the block writes; LogError if it fails.

        With `orders`, no other server writes labels until it ends: positions are in the order of
        commits, so that no reader sees a position before a smaller one.
        """
        for statement in self.begins:
            self.run(statement)
        self._is_inside = True
        try:
            for statement in self.orders if orders else ():
                self.run(statement)
            yield
            self.run("COMMIT")
        except BaseException:
            with suppress(self.errors):
                self._connection.rollback()
            raise
        finally:
            self._is_inside = False

    def exists(self) -> bool:
        """Whether the log was begun."""
        return any(row[0] for row in self.run(self.has_tables))

    @contextmanager
    def _saying(self) -> Iterator[None]:
        try:
            yield
        except self.errors as error:
            said = str(error).strip() or type(error).__name__
            raise LogError(f"{self.name}: {said.splitlines()[0]}") from None

    # What the stores do in their own way

    def _connected(self) -> Any:
        return self._connection

    def _adapted(self, statement: str) -> str:
        return statement

    @abstractmethod
    def become_learner(self) -> bool:
        """Whether this process is the learner of the log now; there is one at most."""

    @abstractmethod
    def close(self) -> None:
        """End the connection, and be the learner no more."""

    # The start

    def begin(self, start: Start) -> None:
        """Make the tables and store the start."""
        with self.transaction(orders=True):
            if self.exists():
                return
            for statement in _SCHEMA.format(serial=self.serial).split(";"):
                if statement.strip():
                    self.run(statement)
            about = start.to_json() | {"log": secrets.token_hex(8)}
            self.put_blob("about", json.dumps(about).encode())
            if start.model is not None:
                self.put_blob("start", file_of(start.model.save))

    def start(self) -> Start:
        """What the log began with."""
        about = self.about()
        return Start.from_json(about, self.blob("start"))

    def about(self) -> dict[str, Any]:
        """The plain data of the start, with the identity of the log."""
        if not self.exists():
            raise DataError(f"{self.name} is not a log: begin it with rosenblatt serve --learn")
        return json.loads(self.blob("about") or b"{}")

    def put_blob(self, name: str, content: bytes) -> None:
        """Store bytes under a name, in the transaction that is open."""
        self.run("DELETE FROM blobs WHERE name = ?", [name])
        parts = [content[at : at + _PART] for at in range(0, len(content), _PART)]
        for part, piece in enumerate(parts):
            self.run("INSERT INTO blobs VALUES (?, ?, ?)", [name, part, piece])

    def blob(self, name: str) -> bytes | None:
        """The bytes of a name."""
        rows = self.run("SELECT content FROM blobs WHERE name = ? ORDER BY part", [name])
        return b"".join(bytes(row[0]) for row in rows) if rows else None

    # Predictions and labels

    def add_predictions(self, predictions: Iterable[Prediction]) -> None:
        """Write predictions, in the transaction that is open."""
        self.run_many(
            "INSERT INTO predictions VALUES (?, ?, ?, NULL, ?, ?)",
            [
                (p.id, p.at, json.dumps(p.row, ensure_ascii=False), p.predicted, p.version)
                for p in predictions
            ],
        )

    def add_labels(self, labels: Sequence[LabelRow]) -> None:
        """Write labels, in the transaction that is open."""
        columns = "id, at, label, weight, replaced"
        self.run_many(f"INSERT INTO labels ({columns}) VALUES (?, ?, ?, ?, ?)", labels)

    def known(self, ids: Sequence[str]) -> dict[str, Known]:
        """What the log has of some ids."""
        known: dict[str, Known] = {}
        for at in range(0, len(ids), _SOME):
            some = ids[at : at + _SOME]
            marks = ", ".join("?" * len(some))
            for id, *rest in self.run(
                "SELECT p.id, p.predicted, l.label, l.weight FROM predictions p LEFT JOIN labels l "
                "ON l.position = (SELECT max(position) FROM labels WHERE labels.id = p.id) "
                f"WHERE p.id IN ({marks})",
                some,
            ):
                known[id] = Known(*rest)
        return known

    def time(self) -> float:
        """The time now, but not before that of the last label, whatever the clock says."""
        last = self.run("SELECT at FROM labels ORDER BY position DESC LIMIT 1")
        return max(time.time(), last[0][0] if last else 0.0)

    def events(self, after: int, most: int) -> list[Event]:
        """The next labels after a position, in their order."""
        return self._events("WHERE l.position > ? ORDER BY l.position LIMIT ?", [after, most])

    def mistakes(self, most: int) -> list[Event]:
        """The latest labels that differ from what was predicted."""
        last = "SELECT max(position) FROM labels"
        return self._events(
            f"WHERE l.position > ({last}) - 10000 AND p.predicted <> l.label "
            "ORDER BY l.position DESC LIMIT ?",
            [most],
        )

    def _events(self, which: str, values: Sequence[Any]) -> list[Event]:
        rows = self.run(
            "SELECT l.position, l.id, l.at, l.label, l.weight, l.replaced, p.predicted, p.version, "
            f"p.columns, p.features FROM labels l JOIN predictions p ON p.id = l.id {which}",
            values,
        )
        return [
            Event._make([*row, json.loads(columns) if columns is not None else bytes(features)])
            for *row, columns, features in rows
        ]

    def events_at(self, positions: Sequence[int]) -> Iterator[list[Event]]:
        """The labels at some positions, in parts."""
        for at in range(0, len(positions), _SOME):
            part = positions[at : at + _SOME]
            yield self._events(f"WHERE l.position IN ({', '.join('?' * len(part))})", part)

    def versions(self) -> list[tuple[int, int]]:
        """The positions of all labels with the version that predicted their row, sorted by it."""
        return [
            (int(position), int(version))
            for position, version in self.run(
                "SELECT l.position, p.version FROM labels l JOIN predictions p ON p.id = l.id "
                "ORDER BY p.version, l.position"
            )
        ]

    def last_position(self, until: float = math.inf) -> int:
        """The position of the last label, up to a time; times never fall."""
        if until == math.inf:
            last = self.run("SELECT max(position) FROM labels")
        else:
            last = self.run("SELECT max(position) FROM labels WHERE at <= ?", [until])
        return int(last[0][0] or 0)

    # Retention

    def forget(self, before: float, most: int, features: Callable[[list[Row]], list[bytes]]) -> int:
        """Replace columns of some labelled rows before a time by their features; drop unlabelled.

        Returns how many were replaced, which are at most so many.
        """
        has_label = "EXISTS (SELECT 1 FROM labels WHERE labels.id = predictions.id)"
        rows = self.run(
            "SELECT id, columns FROM predictions WHERE at < ? AND columns IS NOT NULL "
            f"AND {has_label} LIMIT ?",
            [before, most],
        )
        contents = features([json.loads(columns) for _, columns in rows])
        with self.transaction(orders=True):
            self.run_many(
                "UPDATE predictions SET columns = NULL, features = ? WHERE id = ?",
                [(content, id) for content, (id, _) in zip(contents, rows, strict=True)],
            )
            self.run(
                f"DELETE FROM predictions WHERE at < ? AND columns IS NOT NULL AND NOT {has_label}",
                [before],
            )
        return len(rows)

    # Snapshots

    @abstractmethod
    def save_snapshot(self, arrays: dict[str, Any], about: dict[str, Any]) -> None:
        """Replace the snapshot; may be called by another thread."""

    @abstractmethod
    @contextmanager
    def snapshot(self) -> Iterator[Path | None]:
        """The file of the last snapshot, if there is one."""

    def online(self) -> tuple[Online, str]:
        """The model of the last snapshot or of the start, and a note if the former is of no use."""
        start, note = self.start(), ""
        with self.snapshot() as path:
            if path is not None:
                try:
                    identity = self.about()["log"]
                    return Online.restored(start, path, identity, self.last_position()), ""
                except (ValueError, OSError) as error:
                    note = f"the snapshot is of no use, all labels are replayed: {error}"
        return Online(start), note


class SqliteLog(Log):
    """A log in a file of SQLite, for servers on one machine."""

    is_local = True
    begins = ("BEGIN IMMEDIATE",)  # which holds the lock for writing
    has_tables = "SELECT 1 FROM sqlite_master WHERE name = 'blobs'"
    errors = sqlite3.Error

    def __init__(self, path: Path, *, create: bool = True) -> None:
        self.path, self.name = path, str(path)
        if not create and not path.exists():
            raise DataError("there is no such log", path=path)
        if not path.parent.is_dir():
            raise OptionError(f"the log cannot be written to {path}: there is no such folder")
        self._learner: Any = None
        try:
            self._connection = sqlite3.connect(
                path, timeout=2.0, isolation_level=None, check_same_thread=False
            )
            for pragma in ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON"):
                self._connection.execute(f"PRAGMA {pragma}")
        except sqlite3.Error as error:
            raise DataError(f"this is not a log: {error}", path=path) from None

    def become_learner(self) -> bool:
        """Hold the lock of the file beside the log."""
        if self._learner is None:
            self._learner = acquire_lock(Path(f"{self.path}.learner"))
        return self._learner is not None

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
        if self._learner is not None:
            self._learner.close()
            self._learner = None

    @property
    def _snapshot(self) -> Path:
        return Path(f"{self.path}.snapshot")

    def save_snapshot(self, arrays: dict[str, Any], about: dict[str, Any]) -> None:
        """Replace the file beside the log atomically."""
        tensorfile.write(self._snapshot, arrays, about)

    @contextmanager
    def snapshot(self) -> Iterator[Path | None]:
        """The file beside the log."""
        yield self._snapshot if self._snapshot.exists() else None


def open_log(name: str, *, create: bool = True) -> Log:
    """The log of this name: a file, or the address of a database, postgresql://..."""
    if name.startswith(("postgresql://", "postgres://")):
        from rosenblatt.serve.postgres import PostgresLog

        return PostgresLog(name)
    return SqliteLog(Path(name), create=create)
