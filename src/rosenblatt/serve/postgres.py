"""A log in PostgreSQL, which several servers on several machines share."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rosenblatt.errors import DataError, MissingExtraError
from rosenblatt.models import tensorfile
from rosenblatt.serve.log import Log, LogError
from rosenblatt.serve.online import as_file, file_of

# Keys of advisory locks, with a number for the schema that the log is in.
_LEARNER, _ORDER = 0x726F73, 0x726F74
_HERE = "hashtext(current_schema())"


class PostgresLog(Log):
    """A log in the schema of a database."""

    serial = "BIGSERIAL PRIMARY KEY"
    begins = ("BEGIN",)
    orders = (f"SELECT pg_advisory_xact_lock({_ORDER}, {_HERE})",)
    has_tables = "SELECT to_regclass('blobs')"

    def __init__(self, address: str) -> None:
        try:
            import psycopg
        except ImportError:
            raise MissingExtraError("a log in PostgreSQL", "serve-postgres") from None
        self._psycopg, self._address, self.errors = psycopg, address, psycopg.Error
        self.name = re.sub(r"//[^@/]*@", "//", address.partition("?")[0])  # without a password
        self._learner: Any = None
        try:
            with self._saying():
                self._connection = self._connect()
        except LogError as error:
            raise DataError(str(error)) from None

    def _connect(self) -> Any:
        return self._psycopg.connect(self._address, autocommit=True, connect_timeout=5)

    def _connected(self) -> Any:
        if self._connection.closed and not self._is_inside:  # it was lost
            self._connection = self._connect()
        return self._connection

    def _adapted(self, statement: str) -> str:
        for here, there in (("?", "%s"), (" REAL", " DOUBLE PRECISION"), (" BLOB", " BYTEA")):
            statement = statement.replace(here, there)
        return statement

    def become_learner(self) -> bool:
        """Hold an advisory lock by a connection of its own, which ends with this process."""
        with suppress(self.errors):
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

    def close(self) -> None:
        """End the connections."""
        for connection in (self._connection, self._learner):
            if connection is not None:
                connection.close()
        self._learner = None

    def save_snapshot(self, arrays: dict[str, Any], about: dict[str, Any]) -> None:
        """Replace the snapshot in the database, by a connection of its own."""
        content = file_of(lambda path: tensorfile.write(path, arrays, about))
        other = PostgresLog(self._address)
        try:
            with other.transaction():
                other.put_blob("snapshot", content)
        finally:
            other.close()

    @contextmanager
    def snapshot(self) -> Iterator[Path | None]:
        """The snapshot as a temporary file."""
        content = self.blob("snapshot")
        with as_file(content or b"") as path:
            yield None if content is None else path
