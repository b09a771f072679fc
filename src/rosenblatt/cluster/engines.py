"""Who computes: processes of this machine, or whatever gives a `concurrent.futures.Executor`."""

from __future__ import annotations

import hashlib
import json
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

import numpy as np

from rosenblatt import tensorfile
from rosenblatt.cluster.facts import WorkerError, checked, facts
from rosenblatt.cluster.manifest import Shard, name_of
from rosenblatt.errors import OptionError
from rosenblatt.training.mixing import tree_sum

_POLL = 0.2  # seconds between two looks for Ctrl-C
_PARENT_POLL = 1.0  # seconds between two looks whether the parent lives
_MOST_DEATHS = 5  # of workers without a result in between
_BLOCKS_PER_WORKER = 3  # so that a slow one does not hold up the others


@dataclass(frozen=True)
class Parcel:
    """Arrays and plain data that many tasks need; the name, a hash of them, stands for all.

    Processes that share a disk are told the `path` of the file that it lies in.
    """

    name: str
    arrays: dict[str, np.ndarray] = field(compare=False)
    about: dict[str, Any] = field(compare=False)
    path: str = field(default="", compare=False)

    @classmethod
    def of(cls, arrays: dict[str, np.ndarray], about: dict[str, Any]) -> Parcel:
        """A parcel with its name."""
        digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
        for name, array in sorted(arrays.items()):
            digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data if array.size else b"")
        return cls(digest.hexdigest()[:32], arrays, about)

    def __reduce__(self) -> tuple[Any, ...]:
        if self.path:
            return _from_file, (self.name, self.path)
        return Parcel, (self.name, self.arrays, self.about)

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays."""
        return sum(array.nbytes for array in self.arrays.values())


@lru_cache(maxsize=4)
def _from_file(name: str, path: str) -> Parcel:
    return Parcel(name, *tensorfile.read(path, sealed=True), path)


class Call(NamedTuple):
    """A task: its name, a hash of its inputs; the function; the arguments.

    Tasks of one home are best run where others of it were: there the rows of its shards are.
    """

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    home: str = ""

    @classmethod
    def of(
        cls, function: Callable[..., Any], arguments: tuple[Any, ...], inputs: Any,
        shards: Sequence[Shard] = (),
    ) -> Call:  # fmt: skip
        """A task on some shards, refused where facts differ; `inputs` tell all that decides it."""
        name = f"{function.__name__}-{name_of(inputs, facts())}"
        home = f"{shards[0][0].file.path}:{shards[0][0].start}" if shards else ""
        return cls(name, checked, (facts(), function, *arguments), home)


class Engine:
    """Runs tasks by an executor, which is made again if its workers died; sums are made here.

    All workers and this process see the `folder` for parcels and hashed rows; without one, parcels
    travel with the tasks, and each worker has a folder of its own. An `owned` executor is one of
    loky, made here and shut down here. `tick` is called with the number of tasks done and of all
    tasks, several times per second; `sent` and `received` count bytes of parcels and results.
    """

    dashboard = ""  # where the workers can be watched

    def __init__(
        self, make: Callable[[], Executor], workers: int, folder: Path | None, owned: bool = True
    ) -> None:
        self._make, self.workers, self._owned = make, max(1, workers), owned
        self.parcel_folder = folder
        self._executor: Executor | None = None
        self.tick: Callable[[int, int], None] = lambda done, total: None
        self.sent = self.received = 0

    @property
    def row_cache(self) -> str | None:
        """Where workers keep hashed rows; None: each where it likes."""
        return None if self.parcel_folder is None else str(self.parcel_folder / "shards")

    def blocks(self, leaves: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Cut a sequence into aligned blocks of a power of two, some for each worker."""
        size = 1
        while len(leaves) / size > _BLOCKS_PER_WORKER * self.workers:
            size *= 2
        return [tuple(leaves[i : i + size]) for i in range(0, len(leaves), size)]

    def share(self, parcel: Parcel) -> Any:
        """Let tasks have a parcel; what stands for it in their arguments."""
        if self.parcel_folder is None:
            self.sent += parcel.nbytes * self.workers
            return parcel
        path = self.parcel_folder / f"{parcel.name}.parcel"
        if not path.exists():
            tensorfile.write(path, parcel.arrays, parcel.about)
            self.sent += parcel.nbytes
        return replace(parcel, path=str(path))

    def drop(self, shared: Any) -> None:
        """Forget a parcel that no task will need any more."""
        if shared.path:
            Path(shared.path).unlink(missing_ok=True)

    def spread(self, work: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """What a function gives of each of some tuples of arguments; of a few it is found here."""
        if len(arguments) < 4:
            return [work(*some) for some in arguments]
        return self.each([Call.of(work, some, some) for some in arguments])

    def each(self, calls: Sequence[Call]) -> list[Any]:
        """The results of tasks, in their order."""
        return list(self.stream(calls, len(calls)))

    def total(self, calls: Sequence[Call], add: Callable[[Any, Any], Any]) -> Any:
        """The results of tasks, added up in the fixed tree."""
        results = self.each(calls)
        self.received += sum(int(getattr(result, "nbytes", 0)) for result in results)
        return tree_sum(results, add)

    def stream(self, calls: Sequence[Call], ahead: int | None = None) -> Iterator[Any]:
        """The results of tasks in their order, `ahead` of which may be waiting to be taken."""
        ahead = 2 * self.workers if ahead is None else ahead
        done: dict[int, Any] = {}
        running: dict[Future[Any], int] = {}
        given = taken = deaths = 0
        try:
            while taken < len(calls):
                try:
                    while given < len(calls) and given - taken < max(1, ahead):
                        running[self._submit(calls[given])] = given
                        given += 1
                    for future in wait(running, _POLL, FIRST_COMPLETED).done:
                        done[running[future]] = future.result()
                        del running[future]
                        deaths = 0
                except (BrokenProcessPool, CancelledError) as error:
                    deaths = self._revived(deaths, error)
                    lost = sorted(running.values())
                    running = {self._submit(calls[i]): i for i in lost}
                self.tick(len(done) + taken, len(calls))
                while taken in done:
                    yield done.pop(taken)
                    taken += 1
        finally:
            for future in running:
                future.cancel()

    def close(self) -> None:
        """Let the workers go."""
        executor: Any = self._executor
        if executor is not None and self._owned:  # whatever they do: results that matter are here
            executor.shutdown(wait=True, kill_workers=True)
        self._executor = None

    def _submit(self, call: Call) -> Future[Any]:
        deaths = 0
        while True:
            if self._executor is None:
                self._executor = self._make()
            try:
                return self._executor.submit(call.function, *call.arguments)
            except (BrokenProcessPool, RuntimeError) as error:  # it broke since the last result
                deaths = self._revived(deaths, error)

    def _revived(self, deaths: int, error: BaseException) -> int:
        """Take new workers for those that died; give up if that goes on without a result."""
        if deaths >= _MOST_DEATHS or not self._owned:
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

        # If loky replaces a process all the same, it says so; the task is only given to another.
        warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        environment = threads | {"PYTHONPATH": _path()}
        return ProcessPoolExecutor(workers, env=environment, initializer=_prepare_worker)

    return Engine(make, workers, folder)


def _prepare_worker() -> None:
    """Let this process grow, and end with the one that started it.

    loky replaces a process that is 300 MB larger than after its first task, and has no public
    setting for that; rows that are mapped are not a leak, and the new process would take seconds
    to start and to open them again.
    """
    from joblib.externals.loky import process_executor

    process_executor._MAX_MEMORY_LEAK_SIZE = 1 << 60
    Thread(target=_end_without, args=(os.getppid(),), daemon=True).start()


def _end_without(parent: int) -> None:
    """End this process once its parent was killed: nobody else would."""
    while os.getppid() == parent:
        sleep(_PARENT_POLL)
    os._exit(1)


def _path() -> str:
    """The import path of this process, for processes that it starts."""
    import rosenblatt

    own = str(Path(rosenblatt.__file__).parents[1])
    known = [part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part]
    return os.pathsep.join(dict.fromkeys([own, *known]))


def engine_for(workers: Any, folder: Path) -> Engine:
    """The engine that is meant by a number, a scheduler's address, a client or an executor."""
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
