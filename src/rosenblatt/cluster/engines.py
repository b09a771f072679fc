"""Run tasks on local processes, executors and Dask clusters: the same bits whoever runs them."""

from __future__ import annotations

import hashlib
import logging
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future
from concurrent.futures import wait as wait_for
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4

import numpy as np

import rosenblatt
from rosenblatt.cluster.processes import LocalProcesses, ProcessDied
from rosenblatt.errors import MissingExtraError, OptionError
from rosenblatt.models import tensorfile

_POLL = 0.2  # seconds between two checks for Ctrl-C
_MOST_DEATHS = 5  # of the processes that ran the same task
_BLOCKS_PER_WORKER = 3  # so that a slow worker does not hold up the others
_CONNECT = 10.0  # seconds to reach a Dask scheduler
_WAIT_FOR_WORKERS = 60.0  # seconds until a run on a Dask cluster without workers fails

_PACKAGES = ("numpy", "pyarrow", "numba", "llvmlite")
_VERSION_DIFFERS = (
    "a worker has {name} {found}, this process {expected}: install the same versions everywhere"
)
_DIFFERS = {
    "processor": (
        "a worker has another kind of processor, whose vector instructions add numbers up in "
        "another order: take machines of one kind, and start this process on one of them"
    ),
    "sources": "a worker has other sources of rosenblatt: install the same everywhere",
}
_LACKS_PACKAGE = (
    "the worker at {worker} lacks a package ({error}): install rosenblatt with its extra 'cluster' "
    "on all workers, from the same sources as here"
)
_KILLED = (
    "a task was running on several workers when they died; is there memory enough for them? Take "
    "fewer workers, or more shards (--shards)"
)
_LOST = (
    "the connection to the Dask scheduler was lost; once it runs again, go on with --resume if "
    "there is a checkpoint"
)

Environment = tuple[tuple[str, str], ...]
Item = TypeVar("Item")
Made = TypeVar("Made")


class WorkerError(OptionError):
    """A worker cannot take part: it has other versions, another processor, or no package."""


@cache
def environment() -> Environment:
    """What must be equal on all workers: versions, a hash of the sources, the processor.

    The vector instructions of a processor decide in which order kernels add numbers up.
    """
    import llvmlite.binding as llvm

    package = Path(rosenblatt.__file__).parent
    sources = b"".join(path.read_bytes() for path in sorted(package.rglob("*.py")))
    processor = llvm.get_host_cpu_name() + llvm.get_host_cpu_features().flatten()
    return (
        ("rosenblatt", rosenblatt.__version__),
        ("sources", hashlib.sha256(sources).hexdigest()[:16]),
        *((name, version(name)) for name in _PACKAGES),
        ("processor", hashlib.sha256(processor.encode()).hexdigest()[:16]),
    )


def run_checked(expected: Environment, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function, or raise a WorkerError if the environment here is not the expected one."""
    for (name, value), (_, value_here) in zip(expected, environment(), strict=False):
        if value != value_here:
            message = _DIFFERS.get(name, _VERSION_DIFFERS)
            raise WorkerError(message.format(name=name, found=value_here, expected=value))
    return function(*arguments)


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
    return Broadcast(*tensorfile.read(path), name, path)


class Task(NamedTuple):
    """A pure function and its arguments."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    worker: str | None = None  # where Dask runs it, if it can


def tree_sum(items: Sequence[Item], add: Callable[[Item, Item], Item]) -> Item:
    """Sum items in a fixed binary tree: the left part is the largest power of two below n.

    So each aligned block of 2^k items is a subtree: the sum of the sums of such blocks is the same
    tree.

    >>> tree_sum(list("abcde"), lambda left, right: f"({left}{right})")
    '(((ab)(cd))e)'
    >>> blocks = [tree_sum(list(block), lambda left, right: f"({left}{right})") for block in
    ...           ("ab", "cd", "e")]
    >>> tree_sum(blocks, lambda left, right: f"({left}{right})")
    '(((ab)(cd))e)'
    """
    return tree_map(items, lambda item: item, add)


def tree_map(
    items: Sequence[Item], make: Callable[[Item], Made], add: Callable[[Made, Made], Made]
) -> Made:
    """Sum ``make(item)`` over items in the same tree, holding as few results as possible.

    >>> tree_map("abc", str.upper, lambda left, right: f"({left}{right})")
    '((AB)C)'
    """
    if len(items) == 1:
        return make(items[0])
    half = 1 << ((len(items) - 1).bit_length() - 1)
    left = tree_map(items[:half], make, add)
    return add(left, tree_map(items[half:], make, add))


class Engine:
    """Runs tasks on an executor, again if the process of one died, and sums results here.

    Broadcasts and hashed rows lie in `folder`, which all workers and this process see; if None,
    broadcasts are sent with each task, and each worker has a folder of its own. `tick` is called
    several times per second with the number of tasks done and of all tasks. :meth:`close` ends
    local processes; an executor of the caller is left as it is.
    """

    dashboard = ""  # the address of a page that shows the workers

    def __init__(self, executor: Executor, workers: int, folder: Path | None = None) -> None:
        self.executor, self.workers, self.folder = executor, max(1, workers), folder
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

    def spread(
        self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]
    ) -> Iterator[Any]:
        """The results of a function for tuples of arguments, in their order."""
        return self.stream([Task(function, one) for one in arguments])

    def reduce(self, tasks: Sequence[Task], add: Callable[[Any, Any], Any]) -> Any:
        """The sum of the results of tasks, in the order of the fixed tree."""
        results = self.stream(tasks)
        return tree_map(tasks, lambda _: next(results), add)

    def stream(self, tasks: Sequence[Task], ahead: int | None = None) -> Iterator[Any]:
        """The results of tasks in their order; at most `ahead` of them are pending or waiting."""
        done: dict[int, Any] = {}
        deaths: Counter[int] = Counter()
        running: dict[Future[Any], int] = {}
        submitted = taken = 0
        try:
            while taken < len(tasks):
                while submitted < len(tasks) and (ahead is None or submitted - taken < ahead):
                    running[self._submit(tasks[submitted])] = submitted
                    submitted += 1
                for future in wait_for(running, _POLL, FIRST_COMPLETED).done:
                    number = running.pop(future)
                    try:
                        done[number] = future.result()
                    except ProcessDied as error:
                        deaths[number] += 1
                        if deaths[number] == _MOST_DEATHS:
                            raise WorkerError(_KILLED) from error
                        running[self._submit(tasks[number])] = number
                    except Exception as error:
                        self._explain(error)
                        raise
                self._check()
                self.tick(len(done) + taken, len(tasks))
                while taken in done:
                    yield done.pop(taken)
                    taken += 1
        finally:
            for future in running:
                future.cancel()

    def close(self) -> None:
        """End local processes, whatever they are doing."""
        if isinstance(self.executor, LocalProcesses):
            self.executor.shutdown(wait=False)

    def _submit(self, task: Task, **options: Any) -> Future[Any]:
        try:
            return self.executor.submit(
                run_checked, environment(), task.function, *task.arguments, **options
            )
        except Exception as error:
            self._explain(error)
            raise

    def _check(self) -> None:
        """Raise a WorkerError if no result can come any more."""

    def _explain(self, error: Exception) -> None:
        """Raise a WorkerError of one sentence for an error of the executor, not of a task."""
        name = type(error).__name__  # Dask's classes are not imported for this
        if isinstance(error, BrokenExecutor) or name == "KilledWorker":
            raise WorkerError(_KILLED) from error
        if name in ("CancelledError", "FutureCancelledError", "CommClosedError"):
            raise WorkerError(_LOST) from error


class DaskEngine(Engine):
    """Runs tasks on a Dask cluster, which computes results again when a worker dies.

    Broadcasts are results of tasks whose inputs the scheduler holds, so that they, too, are
    computed again when the worker that holds them dies. Tasks on shards are dealt to the workers in
    the same order again and again, so that the rows of a shard stay on the disk of one of them.
    """

    def __init__(self, client: Any, is_ours: bool) -> None:
        try:
            client.wait_for_workers(1, timeout=_WAIT_FOR_WORKERS)
        except TimeoutError:
            address = client.scheduler.address
            raise WorkerError(
                f"the Dask scheduler at {address} has had no workers for "
                f"{_WAIT_FOR_WORKERS:.0f} s; start some with 'dask worker {address}'"
            ) from None
        for worker, error in client.run(_missing_package()).items():
            if error:  # it would die of the first task
                raise WorkerError(_LACKS_PACKAGE.format(worker=worker, error=error))
        super().__init__(client.get_executor(pure=False), sum(client.nthreads().values()))
        self.client, self._is_ours = client, is_ours
        self.dashboard = str(getattr(client, "dashboard_link", "") or "")

    def share(self, data: Broadcast) -> Any:
        """Send a broadcast to the cluster; returns its future."""
        import dask

        with dask.config.set({"distributed.admin.large-graph-warning-threshold": 1 << 50}):
            return self.client.submit(_identity, data, key=f"broadcast-{data.name}")

    def release(self, shared: Any) -> None:
        """Release the future of a broadcast."""
        with suppress(Exception):  # if the scheduler is gone, so is the broadcast
            shared.release()

    def close(self) -> None:
        """Disconnect from the scheduler, unless the client was given by the caller."""
        if self._is_ours:
            with suppress(Exception):
                self.client.close(timeout=2)

    def stream(self, tasks: Sequence[Task], ahead: int | None = None) -> Iterator[Any]:
        """The results of tasks in their order; at most `ahead` of them are pending or waiting."""
        try:
            threads = self.client.nthreads()
        except Exception as error:
            self._explain(error)
            raise
        slots = [worker for worker, count in sorted(threads.items()) for _ in range(count)]
        dealt = list(tasks)
        if slots:
            share = len(slots) / len(tasks)
            dealt = [t._replace(worker=slots[int(i * share)]) for i, t in enumerate(tasks)]
        yield from super().stream(dealt, ahead)

    def _submit(self, task: Task, **options: Any) -> Future[Any]:
        if task.worker is None:
            return super()._submit(task)
        return super()._submit(task, workers=[task.worker], allow_other_workers=True)

    def _check(self) -> None:
        if self.client.status != "running":
            raise WorkerError(_LOST)

    def _explain(self, error: Exception) -> None:
        if self.client.status != "running":
            raise WorkerError(_LOST) from error
        super()._explain(error)


def _missing_package() -> Callable[[], str]:
    """A function that says what a worker lacks; Dask pickles it by value, as it is a local one."""

    def missing() -> str:
        try:
            import rosenblatt.cluster.engines  # noqa: F401
        except ImportError as error:
            return str(error)
        return ""

    return missing


def _identity(data: Broadcast) -> Broadcast:
    return data


def engine_for(workers: Any, folder: Path) -> Engine:
    """The engine for a number of processes, a Dask scheduler's address, a client or an executor."""
    if isinstance(workers, str) and workers.strip().isdigit():
        workers = int(workers)
    if isinstance(workers, bool) or workers is None:
        raise OptionError("workers is a number of processes or the address of a Dask scheduler")
    if isinstance(workers, int):
        if workers < 1:
            raise OptionError(f"workers must be at least 1, got {workers}")
        return Engine(LocalProcesses(workers), workers, folder)
    if isinstance(workers, Executor):
        return Engine(workers, int(getattr(workers, "_max_workers", 0)) or os.cpu_count() or 1)
    if isinstance(workers, str) and "://" not in workers:
        raise OptionError(
            f"{workers!r} is neither a number of processes nor the address of a Dask scheduler, "
            "such as tcp://host:8786"
        )
    return _dask_engine(workers)


def _dask_engine(workers: Any) -> DaskEngine:
    """The engine for a scheduler's address or a client."""
    try:
        from distributed import Client
    except ImportError:
        raise MissingExtraError("training by the workers of a Dask cluster", "cluster") from None
    if isinstance(workers, Client):
        return DaskEngine(workers, is_ours=False)
    if not isinstance(workers, str):
        raise WorkerError(
            f"workers is a number, the address of a Dask scheduler, a client or an executor, not "
            f"{type(workers).__name__}"
        )
    for name in ("distributed", "distributed.client"):  # errors are reported once, by us
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        client = Client(workers, timeout=_CONNECT, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise WorkerError(
            f"no Dask scheduler answers at {workers} ({reason[:120]}); start one with "
            "'dask scheduler' and workers with 'dask worker ADDRESS'"
        ) from None
    try:
        return DaskEngine(client, is_ours=True)
    except BaseException:
        client.close()
        raise
