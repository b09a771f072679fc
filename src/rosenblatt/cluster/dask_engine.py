"""Workers of a Dask cluster: tasks named by their inputs, made again when a worker dies."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Event
from time import monotonic
from typing import Any

from rosenblatt.cluster.engines import Call, Engine, Parcel
from rosenblatt.cluster.facts import WorkerError, difference, facts
from rosenblatt.errors import MissingExtraError
from rosenblatt.training.mixing import tree_sum

_CONNECT = 10.0  # seconds to reach a scheduler
_WAIT_FOR_WORKERS = 60.0  # seconds until a cluster without workers is given up
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
    """Runs tasks on a Dask cluster; sums are made where their parts are.

    Parcels are results of tasks whose inputs the scheduler holds, so that they, too, are made
    again when the worker that has them dies. A shard stays with a worker as long as that lives.
    """

    def __init__(self, client: Any, owned: bool) -> None:
        self.client, self._owned = client, owned
        self.parcel_folder = None
        self.dashboard = str(getattr(client, "dashboard_link", "") or "")
        self.tick: Callable[[int, int], None] = lambda done, total: None
        self.sent = self.received = 0
        self._homes: dict[str, str] = {}
        self._last_seen = monotonic()
        try:
            client.wait_for_workers(1, timeout=_WAIT_FOR_WORKERS)
        except TimeoutError:
            raise WorkerError(_no_workers(client)) from None
        self.workers = sum(client.nthreads().values())
        _check_workers(client)

    def share(self, parcel: Parcel) -> Any:
        """Let tasks have a parcel."""
        import dask

        self.sent += parcel.nbytes
        with dask.config.set({_LARGE: 1 << 50}), self._speaking():
            return self.client.submit(_itself, parcel, key=f"parcel-{parcel.name}")

    def drop(self, shared: Any) -> None:
        """Forget a parcel that no task will need any more."""
        with suppress(Exception):  # if the scheduler is gone, so is the parcel
            shared.release()

    def total(self, calls: Sequence[Call], add: Callable[[Any, Any], Any]) -> Any:
        """The results of tasks, added up in the fixed tree, by the workers."""
        futures = self._submitted(calls)
        with self._speaking():
            root = tree_sum(futures, lambda left, right: self.client.submit(add, left, right))
        for done in self._watched([*futures, root]):
            self.tick(min(done, len(calls)), len(calls))
        with self._speaking():
            result = root.result()
        self.received += int(getattr(result, "nbytes", 0))
        return result

    def stream(self, calls: Sequence[Call], ahead: int | None = None) -> Iterator[Any]:
        """The results of tasks in their order, `ahead` of which may be waiting to be taken."""
        ahead = max(1, 2 * self.workers if ahead is None else ahead)
        futures = self._submitted(calls[:ahead])
        for taken in range(len(calls)):
            for _ in self._watched([futures[0]]):
                self.tick(taken, len(calls))
            if taken + ahead < len(calls):
                futures.extend(self._submitted(calls[taken + ahead : taken + ahead + 1]))
            with self._speaking():
                result = futures.pop(0).result()
            yield result
        self.tick(len(calls), len(calls))

    def close(self) -> None:
        """Let go of the scheduler, unless somebody else connected to it."""
        if self._owned:
            with suppress(Exception):
                self.client.close(timeout=2)

    def _submitted(self, calls: Sequence[Call]) -> list[Any]:
        futures = []
        with self._speaking():
            homes = self._assigned([call.home for call in calls])
            for call, home in zip(calls, homes, strict=True):
                where = {"workers": [home], "allow_other_workers": True} if home else {}
                submit = self.client.submit
                futures.append(submit(call.function, *call.arguments, key=call.name, **where))
        return futures

    def _assigned(self, places: Sequence[str]) -> list[str]:
        """The worker for each task: where its shard is, if that lives and has no more than others.

        What is computed does not depend on it.
        """
        threads = self.client.nthreads()
        total = sum(threads.values())
        if not total:
            return [""] * len(places)
        self.workers = total
        most = {worker: -(-len(places) * n // total) for worker, n in threads.items()}
        load: Counter[str] = Counter()
        chosen = [self._homes.get(place, "") for place in places]
        for i, home in enumerate(chosen):
            if home not in most or load[home] >= most[home]:
                chosen[i] = ""
            else:
                load[home] += 1
        for i, home in enumerate(chosen):
            if not home:
                chosen[i] = min(sorted(threads), key=lambda w: (load[w] + 1) / threads[w])
                load[chosen[i]] += 1
        self._homes |= dict(zip(places, chosen, strict=True))
        return chosen

    def _watched(self, futures: list[Any]) -> Iterator[int]:
        """How many futures are done, several times per second, until all of them are."""
        changed = Event()
        for future in futures:
            future.add_done_callback(lambda _: changed.set())
        while any(not future.done() for future in futures):
            changed.wait(_POLL)
            changed.clear()
            if any(future.status in ("error", "cancelled", "lost") for future in futures):
                return  # the result says why
            yield sum(future.done() for future in futures)
            self._must_have_workers()

    @contextmanager
    def _speaking(self) -> Iterator[None]:
        """Let errors of Dask be one sentence, and those of tasks be as they are."""
        try:
            yield
        except ModuleNotFoundError as error:
            raise WorkerError(_lacks("a worker", error)) from error
        except Exception as error:
            name = type(error).__name__
            if name == "KilledWorker":
                raise WorkerError(_KILLED) from error
            lost = ("CancelledError", "FutureCancelledError", "CommClosedError")
            if name in lost or self.client.status != "running":
                raise WorkerError(_LOST) from error
            raise

    def _must_have_workers(self) -> None:
        """Give up when there have been no workers for a while."""
        if self.client.status != "running":
            raise WorkerError(_LOST)
        now = monotonic()
        if now - self._last_seen < 5.0:
            return
        with self._speaking():
            if self.client.nthreads():
                self._last_seen = now
        if now - self._last_seen > _WAIT_FOR_WORKERS:
            raise WorkerError(_no_workers(self.client))


def _itself(parcel: Parcel) -> Parcel:
    return parcel


def dask_engine(workers: Any) -> DaskEngine:
    """The engine of a scheduler's address or of a client."""
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
    for name in ("distributed", "distributed.client"):  # one sentence is said here
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
    """Refuse workers without the package, or with other facts than this process."""

    def ask() -> Any:  # sent as it is: it must run where the package is not installed
        try:
            from rosenblatt.cluster.facts import facts
        except ImportError as error:
            return str(error)
        return facts()

    for worker, found in client.run(ask).items():
        if isinstance(found, str):
            raise WorkerError(_lacks(f"the worker at {worker}", found))
        if sentence := difference(facts(), found):
            raise WorkerError(sentence.replace("a worker", f"the worker at {worker}", 1))


def _lacks(who: str, error: Any) -> str:
    return (
        f"{who} lacks a package ({error}): install rosenblatt with its extra 'cluster' on all "
        "workers, from the same sources as here"
    )


def _no_workers(client: Any) -> str:
    return (
        f"the Dask scheduler at {client.scheduler.address} has had no workers for "
        f"{_WAIT_FOR_WORKERS:.0f} s; start some with 'dask worker {client.scheduler.address}'"
    )
