"""Run tasks on processes of this machine or on any `concurrent.futures.Executor`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from threading import Thread
from time import sleep
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from rosenblatt.cluster.environment import WorkerError, environment, run_checked
from rosenblatt.cluster.manifest import Range
from rosenblatt.cluster.mixing import tree_sum
from rosenblatt.errors import OptionError
from rosenblatt.models import tensorfile

_POLL = 0.2  # seconds between two checks for Ctrl-C
_PARENT_POLL = 1.0  # seconds between two checks whether the parent process lives
_MAX_DEATHS = 5  # of workers, without a result in between
_BLOCKS_PER_WORKER = 3  # so that a slow worker does not hold up the others


@dataclass(frozen=True)
class Broadcast:
    """Arrays and JSON data that many tasks need, sent to each worker once.

    Workers cache what they compute from it by its unique name. If `path` is set, it is pickled as
    the path of a file on a shared disk that holds it.
    """

    arrays: dict[str, np.ndarray] = field(compare=False)
    about: dict[str, Any] = field(compare=False)
    name: str = field(default_factory=lambda: uuid4().hex)
    path: str = field(default="", compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        if self.path:
            return _read_broadcast, (self.name, self.path)
        return Broadcast, (self.arrays, self.about, self.name)


@lru_cache(maxsize=4)
def _read_broadcast(name: str, path: str) -> Broadcast:
    return Broadcast(*tensorfile.read(path, require_checksum=True), name, path)


class Task(NamedTuple):
    """A pure function and its arguments.

    Tasks that begin with the same part of a file (`home`) run on the same worker if possible: the
    hashed rows are on its disk.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    home: Range | None = None


class Engine:
    """Runs tasks on an executor, which is made again if its workers die; sums results here.

    Broadcasts and hashed rows lie in `folder`, which all workers and this process see; if None,
    broadcasts are sent with each task, and each worker has a folder of its own. :meth:`close` shuts
    down an `owned` executor. `tick` is called several times per second with the number of tasks
    done and of all tasks.
    """

    dashboard = ""  # the address of a page that shows the workers

    def __init__(
        self, make: Callable[[], Executor], workers: int, folder: Path | None, owned: bool = True
    ) -> None:
        self._make, self.workers, self.folder, self._owned = make, max(1, workers), folder, owned
        self._executor: Executor | None = None
        self.tick: Callable[[int, int], None] = lambda done, total: None

    @property
    def row_cache(self) -> str | None:
        """The folder of hashed rows; None if each worker has one of its own."""
        return None if self.folder is None else str(self.folder / "shards")

    def blocks(self, items: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Cut items into aligned blocks of a power of two, a few per worker."""
        size = 1
        while len(items) / size > _BLOCKS_PER_WORKER * self.workers:
            size *= 2
        return [tuple(items[i : i + size]) for i in range(0, len(items), size)]

    def share(self, data: Broadcast) -> Any:
        """Make a broadcast available to workers; returns what stands for it in arguments."""
        if self.folder is None:
            return data
        path = self.folder / f"{data.name}.broadcast"
        tensorfile.write(path, data.arrays, data.about)
        return replace(data, path=str(path))

    def release(self, shared: Any) -> None:
        """Remove a broadcast that no task will need any more."""
        if shared.path:
            Path(shared.path).unlink(missing_ok=True)

    def spread(self, work: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """The results of a function for each tuple of arguments; a few are computed here."""
        if len(arguments) < 4:
            return [work(*some) for some in arguments]
        return self.results([Task(work, some) for some in arguments])

    def results(self, tasks: Sequence[Task]) -> list[Any]:
        """The results of tasks, in their order."""
        return list(self.stream(tasks, len(tasks)))

    def reduce(self, tasks: Sequence[Task], add: Callable[[Any, Any], Any]) -> Any:
        """The sum of the results of tasks, in the order of the fixed tree."""
        return tree_sum(self.results(tasks), add)

    def stream(self, tasks: Sequence[Task], ahead: int | None = None) -> Iterator[Any]:
        """The results of tasks in their order; at most `ahead` of them are pending or waiting."""
        ahead = max(1, 2 * self.workers if ahead is None else ahead)
        done: dict[int, Any] = {}
        running: dict[Future[Any], int] = {}
        submitted = taken = deaths = 0
        try:
            while taken < len(tasks):
                try:
                    while submitted < len(tasks) and submitted - taken < ahead:
                        running[self._submit(tasks[submitted])] = submitted
                        submitted += 1
                    for future in wait(running, _POLL, FIRST_COMPLETED).done:
                        done[running[future]] = future.result()
                        del running[future]
                        deaths = 0
                except (BrokenProcessPool, CancelledError) as error:
                    deaths = self._count_death(deaths, error)
                    lost = sorted(running.values())
                    running = {self._submit(tasks[i]): i for i in lost}
                self.tick(len(done) + taken, len(tasks))
                while taken in done:
                    yield done.pop(taken)
                    taken += 1
        finally:
            for future in running:
                future.cancel()

    def close(self) -> None:
        """Shut the workers down, whatever they are doing."""
        executor: Any = self._executor
        if executor is not None and self._owned:
            executor.shutdown(wait=True, kill_workers=True)
        self._executor = None

    def _submit(self, task: Task) -> Future[Any]:
        deaths = 0
        while True:
            if self._executor is None:
                self._executor = self._make()
            try:
                return self._executor.submit(
                    run_checked, environment(), task.function, *task.arguments
                )
            except (BrokenProcessPool, RuntimeError) as error:  # it broke since the last result
                deaths = self._count_death(deaths, error)

    def _count_death(self, deaths: int, error: BaseException) -> int:
        """Drop an executor whose workers died; raise a WorkerError if that happens too often."""
        if deaths >= _MAX_DEATHS or not self._owned:
            raise WorkerError(
                f"workers died {deaths + 1} times in a row without finishing a task; is there "
                "memory enough for them? Take fewer workers, or more shards (--shards)"
            ) from error
        self.close()
        return deaths + 1


def local_engine(workers: int, folder: Path) -> Engine:
    """Processes of this machine; scripts need no ``if __name__ == "__main__"`` for them."""
    if workers < 1:
        raise OptionError(f"workers must be at least 1, got {workers}")

    def make() -> Executor:
        from joblib.externals.loky import ProcessPoolExecutor

        # If loky replaces a process all the same, it warns; the task only runs again.
        warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        variables = threads | {"PYTHONPATH": _import_path()}
        return ProcessPoolExecutor(workers, env=variables, initializer=_init_worker)

    return Engine(make, workers, folder)


def _init_worker() -> None:
    """Let this process grow, and end it when its parent ends.

    loky replaces a process that is 300 MB larger than after its first task, and has no public
    setting for that. Mapped rows are not a leak, and a new process would take seconds to start and
    to open them again.
    """
    from joblib.externals.loky import process_executor

    process_executor._MAX_MEMORY_LEAK_SIZE = 1 << 60
    Thread(target=_exit_with_parent, args=(os.getppid(),), daemon=True).start()


def _exit_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        sleep(_PARENT_POLL)
    os._exit(1)


def _import_path() -> str:
    """PYTHONPATH for worker processes: the package as it was imported here comes first."""
    import rosenblatt

    own = str(Path(rosenblatt.__file__).parents[1])
    known = [part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part]
    return os.pathsep.join(dict.fromkeys([own, *known]))


def engine_for(workers: Any, folder: Path) -> Engine:
    """The engine for a number of processes, a Dask scheduler's address, a client or an executor."""
    if isinstance(workers, str) and workers.strip().isdigit():
        workers = int(workers)
    if isinstance(workers, bool) or workers is None:
        raise OptionError("workers is a number of processes or the address of a Dask scheduler")
    if isinstance(workers, int):
        return local_engine(workers, folder)
    if isinstance(workers, Executor):
        count = int(getattr(workers, "_max_workers", 0)) or os.cpu_count() or 1
        return Engine(lambda: workers, count, None, owned=False)
    if isinstance(workers, str) and "://" not in workers:
        raise OptionError(
            f"{workers!r} is neither a number of processes nor the address of a Dask scheduler, "
            "such as tcp://host:8786"
        )
    from rosenblatt.cluster.dask_engine import dask_engine

    return dask_engine(workers)
