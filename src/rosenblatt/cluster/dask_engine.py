"""Run tasks on a Dask cluster, which computes results again when a worker dies."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Event
from time import monotonic
from typing import Any
from uuid import uuid4

from rosenblatt.cluster.engines import Broadcast, Engine, Task
from rosenblatt.cluster.environment import WorkerError, difference, environment, run_checked
from rosenblatt.cluster.mixing import tree_sum
from rosenblatt.errors import MissingExtraError

_CONNECT = 10.0  # seconds to reach a scheduler
_WAIT_FOR_WORKERS = 60.0  # seconds until a run on a cluster without workers fails
_POLL = 0.2
_LOST = (
    "the connection to the Dask scheduler was lost; once it runs again, go on with --resume if "
    "there is a checkpoint"
)
_KILLED = (
    "a task was running on several workers when they died; is there memory enough for them? Take "
    "more shards (--shards), and look into the logs of the workers"
)
_LARGE = "distributed.admin.large-graph-warning-threshold"


class DaskEngine(Engine):
    """Runs tasks on a Dask cluster and sums results on the workers that hold them.

    Broadcasts are results of tasks whose inputs the scheduler holds, so that they, too, are
    computed again when the worker that holds them dies. A shard stays on a worker while that lives.
    """

    def __init__(self, client: Any, owned: bool) -> None:
        try:
            client.wait_for_workers(1, timeout=_WAIT_FOR_WORKERS)
        except TimeoutError:
            raise WorkerError(_no_workers(client)) from None
        super().__init__(client.get_executor, sum(client.nthreads().values()), None, owned)
        self.client = client
        self.dashboard = str(getattr(client, "dashboard_link", "") or "")
        self._homes: dict[str, str] = {}  # the worker that holds the rows of a part of a file
        self._last_seen = monotonic()  # when there were workers
        _check_workers(client)

    def share(self, data: Broadcast) -> Any:
        """Send a broadcast to the cluster; returns its future."""
        import dask

        with dask.config.set({_LARGE: 1 << 50}), self._readable_errors():
            return self.client.submit(_identity, data, key=f"broadcast-{data.name}")

    def release(self, shared: Any) -> None:
        """Release the future of a broadcast."""
        with suppress(Exception):  # if the scheduler is gone, so is the broadcast
            shared.release()

    def reduce(self, tasks: Sequence[Task], add: Callable[[Any, Any], Any]) -> Any:
        """The sum of the results of tasks, in the order of the fixed tree, by the workers."""
        futures = self._submit_all(tasks)
        with self._readable_errors():
            root = tree_sum(futures, lambda left, right: self.client.submit(add, left, right))
        for done in self._until_done([*futures, root]):
            self.tick(min(done, len(tasks)), len(tasks))
        with self._readable_errors():
            return root.result()

    def stream(self, tasks: Sequence[Task], ahead: int | None = None) -> Iterator[Any]:
        """The results of tasks in their order; at most `ahead` of them are pending or waiting."""
        ahead = max(1, 2 * self.workers if ahead is None else ahead)
        futures = self._submit_all(tasks[:ahead])
        for taken in range(len(tasks)):
            for _ in self._until_done([futures[0]]):
                self.tick(taken, len(tasks))
            if taken + ahead < len(tasks):
                futures.extend(self._submit_all([tasks[taken + ahead]]))
            with self._readable_errors():
                result = futures.pop(0).result()
            yield result
        self.tick(len(tasks), len(tasks))

    def close(self) -> None:
        """Disconnect from the scheduler, unless the client was given by the caller."""
        if self._owned:
            with suppress(Exception):
                self.client.close(timeout=2)

    def _submit_all(self, tasks: Sequence[Task]) -> list[Any]:
        futures = []
        with self._readable_errors():
            workers = self._assign_workers(tasks)
            for task, worker in zip(tasks, workers, strict=True):
                where = {"workers": [worker], "allow_other_workers": True} if worker else {}
                arguments = (environment(), task.function, *task.arguments)
                key = f"{task.function.__name__}-{uuid4().hex}"
                futures.append(self.client.submit(run_checked, *arguments, key=key, **where))
        return futures

    def _assign_workers(self, tasks: Sequence[Task]) -> list[str]:
        """A worker for each task: the one that holds its rows, unless it has more than its share.

        Results do not depend on it.
        """
        threads = self.client.nthreads()
        total = sum(threads.values())
        if not total:
            return [""] * len(tasks)
        self.workers = total
        homes = [f"{task.home.file.path}:{task.home.start}" if task.home else "" for task in tasks]
        most = {worker: -(-len(tasks) * n // total) for worker, n in threads.items()}
        load: Counter[str] = Counter()
        for home in homes:
            worker = self._homes.get(home, "")
            if load[worker] >= most.get(worker, 0):
                worker = min(sorted(threads), key=lambda w: (load[w] + 1) / threads[w])
            load[worker] += 1
            self._homes[home] = worker
        return [self._homes[home] for home in homes]

    def _until_done(self, futures: list[Any]) -> Iterator[int]:
        """The number of finished futures, several times per second, until all are or one fails."""
        changed = Event()
        for future in futures:
            future.add_done_callback(lambda _: changed.set())
        while any(not future.done() for future in futures):
            changed.wait(_POLL)
            changed.clear()
            if any(future.status in ("error", "cancelled", "lost") for future in futures):
                return  # the result says why
            yield sum(future.done() for future in futures)
            self._check_alive()

    @contextmanager
    def _readable_errors(self) -> Iterator[None]:
        """Turn errors of Dask into a WorkerError of one sentence; errors of tasks pass."""
        try:
            yield
        except ModuleNotFoundError as error:
            raise WorkerError(_lacks_package("a worker", error)) from error
        except Exception as error:
            name = type(error).__name__
            if name == "KilledWorker":
                raise WorkerError(_KILLED) from error
            lost = ("CancelledError", "FutureCancelledError", "CommClosedError")
            if name in lost or self.client.status != "running":
                raise WorkerError(_LOST) from error
            raise

    def _check_alive(self) -> None:
        """Raise a WorkerError if there is no scheduler, or have been no workers for a while."""
        if self.client.status != "running":
            raise WorkerError(_LOST)
        now = monotonic()
        if now - self._last_seen < 5.0:
            return
        with self._readable_errors():
            if self.client.nthreads():
                self._last_seen = now
        if now - self._last_seen > _WAIT_FOR_WORKERS:
            raise WorkerError(_no_workers(self.client))


def _identity(data: Broadcast) -> Broadcast:
    return data


def dask_engine(workers: Any) -> DaskEngine:
    """The engine for a scheduler's address or a client."""
    try:
        from distributed import Client
    except ImportError:
        raise MissingExtraError("training by the workers of a Dask cluster", "cluster") from None
    if isinstance(workers, Client):
        return DaskEngine(workers, owned=False)
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
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise WorkerError(
            f"no Dask scheduler answers at {workers} ({said[:120]}); start one with "
            "'dask scheduler' and workers with 'dask worker ADDRESS'"
        ) from None
    try:
        return DaskEngine(client, owned=True)
    except BaseException:
        client.close()
        raise


def _check_workers(client: Any) -> None:
    """Raise a WorkerError if a worker lacks the package or has another environment."""

    def ask() -> Any:  # pickled by value: it must run where the package is not installed
        try:
            from rosenblatt.cluster.environment import environment
        except ImportError as error:
            return str(error)
        return environment()

    for worker, found in client.run(ask).items():
        if isinstance(found, str):
            raise WorkerError(_lacks_package(f"the worker at {worker}", found))
        if message := difference(environment(), found):
            raise WorkerError(message.replace("a worker", f"the worker at {worker}", 1))


def _lacks_package(who: str, error: Any) -> str:
    return (
        f"{who} lacks a package ({error}): install rosenblatt with its extra 'cluster' on all "
        "workers, from the same sources as here"
    )


def _no_workers(client: Any) -> str:
    return (
        f"the Dask scheduler at {client.scheduler.address} has had no workers for "
        f"{_WAIT_FOR_WORKERS:.0f} s; start some with 'dask worker {client.scheduler.address}'"
    )
