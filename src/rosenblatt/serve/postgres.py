"""A log in PostgreSQL, which several servers on several machines share."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rosenblatt.errors import DataError, MissingExtraError
from rosenblatt.models import tensorfile
from rosenblatt.serve.log import Log, LogError

# Keys of advisory locks, with a number for the schema that the log is in.
_LEARNER, _ORDER = 0x726F73, 0x726F74
_HERE = "hashtext(current_schema())"


class PostgresLog(Log):
    """A log in the schema of a database."""

    serial = "BIGSERIAL PRIMARY KEY"

    def __init__(self, address: str) -> None:
        try:
            import psycopg
        except ImportError:
            raise MissingExtraError("a log in PostgreSQL", "serve-postgres") from None
        self._psycopg, self._address = psycopg, address
        self.name = re.sub(r"//[^@/]*@", "//", address.partition("?")[0])  # without a password
        self._learner: Any = None
        self._connection: Any = None
        self._is_inside = False  # a transaction, whose statements need its connection
        try:
            self._connection = self._connect()
        except psycopg.Error as error:
            raise DataError(f"{self.name}: {_said(error)}") from None

    def _connect(self) -> Any:
        return self._psycopg.connect(self._address, autocommit=True, connect_timeout=5)

    def run(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement; connects again if the connection is lost."""
        try:
            if self._connection.closed and not self._is_inside:
                self._connection = self._connect()
            cursor = self._connection.execute(_adapted(statement), values)
            return cursor.fetchall() if cursor.description else []
        except self._psycopg.Error as error:
            raise LogError(f"{self.name}: {_said(error)}") from None

    def run_many(self, statement: str, values: Iterable[Sequence[Any]]) -> None:
        """Run a statement for each of several values."""
        try:
            with self._connection.cursor() as cursor:
                cursor.executemany(_adapted(statement), values)
        except self._psycopg.Error as error:
            raise LogError(f"{self.name}: {_said(error)}") from None

    @contextmanager
    def transaction(self, orders: bool = False) -> Iterator[None]:
        """A transaction; with `orders` it waits for those of other servers."""
        self.run("BEGIN")
        self._is_inside = True
        try:
            if orders:
                self.run(f"SELECT pg_advisory_xact_lock({_ORDER}, {_HERE})")
            yield
            self.run("COMMIT")
        except BaseException:
            with suppress(self._psycopg.Error):
                self._connection.rollback()
            raise
        finally:
            self._is_inside = False

    def become_learner(self) -> bool:
        """Hold an advisory lock by a connection of its own, which ends with this process."""
        with suppress(self._psycopg.Error):
            if self._learner is not None:
                self._learner.execute("SELECT 1")
                return True
            connection = self._connect()
            lock = f"SELECT pg_try_advisory_lock({_LEARNER}, {_HERE})"
            if connection.execute(lock).fetchone()[0]:
                self._learner = connection
                return True
            connection.close()
            return False
        self._learner = None  # the connection, and with it the lock, is lost
        return False

    def exists(self) -> bool:
        """Whether there are the tables of a log."""
        return bool(self.run("SELECT to_regclass('blobs')")[0][0])

    def close(self) -> None:
        """End the connections."""
        for connection in (self._connection, self._learner):
            if connection is not None:
                connection.close()
        self._learner = None

    def save_snapshot(self, arrays: dict[str, Any], about: dict[str, Any]) -> None:
        """Replace the snapshot in the database, by a connection of its own."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "snapshot"
            tensorfile.write(path, arrays, about)
            other = PostgresLog(self._address)
            try:
                with other.transaction():
                    other.put_blob("snapshot", path.read_bytes())
            finally:
                other.close()

    @contextmanager
    def snapshot(self) -> Iterator[Path | None]:
        """The snapshot as a temporary file."""
        content = self.blob("snapshot")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "snapshot"
            if content is not None:
                path.write_bytes(content)
            yield None if content is None else path


def _adapted(statement: str) -> str:
    """A statement in the dialect of PostgreSQL.

    >>> _adapted("INSERT INTO a (at REAL, content BLOB) VALUES (?, ?)")
    'INSERT INTO a (at DOUBLE PRECISION, content BYTEA) VALUES (%s, %s)'
    """
    for here, there in (("?", "%s"), (" REAL", " DOUBLE PRECISION"), (" BLOB", " BYTEA")):
        statement = statement.replace(here, there)
    return statement


def _said(error: Exception) -> str:
    """The first line of what the database says."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
