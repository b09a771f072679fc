"""Answers requests in batches: score, write to the log, learn from it.

The model and the log are used by one thread at a time, for a batch at a time: what came while the
last batch was written is the next one. A commit costs the same for one row as for a thousand.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any

import numpy as np

from rosenblatt.data.source import MOST_CLASSES
from rosenblatt.kernels.text import Rows
from rosenblatt.learners.problems import own_scores
from rosenblatt.models.model import Model
from rosenblatt.serve.log import Known, LabelRow, Log, LogError, Prediction, new_id
from rosenblatt.serve.online import Online
from rosenblatt.serve.rows import Labels, Predict, Row, RowReader

_MOST_ROWS = 4096  # of a batch, and labels learned at a time when the service starts
_FEW = 16  # rows of a request that, if it is alone, is answered without another thread
_LOOKS = 3  # turns of the event loop in which requests that have arrived join one that is alone
_LABELS, _LEARN_SECONDS = 64, 0.2  # learned at a time, and the time for it, between two batches
_MOST_EXPLAINED = 100  # rows of a request
_POLL = 0.1  # seconds between looks at the log, for the labels that other servers took
_SNAPSHOT_SECONDS, _SNAPSHOT_LABELS = 60.0, 20_000
_PAUSE = 2.0  # seconds until the next look, after one that failed
_ASK_SECONDS = 1.0  # between attempts to become the learner
_FORGET_SECONDS = 600.0


class Busy(RuntimeError):  # noqa: N818  (named by what is the case)
    """More rows wait than may wait."""


class UnknownId(ValueError):  # noqa: N818
    """A label is for an id that the log does not have, and has no row."""


Task = Predict | Labels | Callable[[], Any]  # a function is called between two batches


class Engine:
    """The model of a service and its log; it learns what is in the log when it is made.

    Parameters
    ----------
    model : Model
        The model to answer by, if there is no log.
    log : Log
        The log to answer by and to follow.
    learns : bool
        Whether to be the learner of the log, as soon as no other process is: the learner writes
        the snapshots. Every server learns from the log by itself, so that all have the same bits.
    forget_after : float
        The seconds after which the log forgets columns of rows.
    """

    def __init__(
        self,
        model: Model | None = None,
        log: Log | None = None,
        *,
        learns: bool = False,
        forget_after: float | None = None,
    ) -> None:
        self.model, self.log, self.learns, self.forget_after = model, log, learns, forget_after
        self.most_waiting, self.waiting = 20_000, 0  # rows
        self.counts: Counter[str] = Counter()
        self.failure: str | None = None  # why the model learns no more
        self.unseen = 0.0  # the share of features without weights, in about the last thousand rows
        self.identity = secrets.token_hex(8)  # of the log, if any
        self.online: Online | None = None
        self.is_learner = self._closing = False
        self._queue: deque[tuple[Task, int, asyncio.Future[Any]]] = deque()
        self._wake = asyncio.Event()
        self._labels: set[str] = set()  # that were taken
        self._thread = ThreadPoolExecutor(1, "engine")
        self._writer = ThreadPoolExecutor(1, "snapshots")
        self._writing: Any = None
        self._said = "", 0.0  # the last error, and when it was said
        self._looked = self._snapshot_time = self._asked = self._forget_time = time.monotonic()
        if log is None:
            assert model is not None
            self.reader = RowReader(model.features)
            model.scores(self.reader.hashed([self.reader.blank]))  # which compiles the kernels
            return
        self.is_learner = learns and log.become_learner()
        self.identity = log.about()["log"]
        self.online, note = log.online()
        Online.compile(self.online.start)
        if note:
            say("snapshot", note=note)
        self.reader = self.online.reader
        self._snapshot_position = self.online.position
        while self._follow(_MOST_ROWS):
            pass

    @property
    def current(self) -> Model:
        """The model to answer by."""
        if self.online is not None:
            return self.online.model
        assert self.model is not None
        return self.model

    @property
    def version(self) -> int:
        """The position of the last label that the model has learned; 0 without a log."""
        return 0 if self.online is None else self.online.position

    # In the event loop

    async def submit(self, task: Task, size: int = 1) -> Any:
        """Wait for something to be done; raises Busy if too much waits already."""
        if self.waiting + size > self.most_waiting:
            raise Busy(f"{self.waiting:,} rows wait already; ask again later")
        future = asyncio.get_running_loop().create_future()
        self._queue.append((task, size, future))
        self.waiting += size
        self._wake.set()
        return await future

    async def run(self) -> None:
        """Do the work that comes, until :meth:`stop`; then what was accepted."""
        loop = asyncio.get_running_loop()
        while self._queue or not self._closing:
            if not self._queue:
                self._wake.clear()
                timer = loop.call_later(_POLL, self._wake.set)
                await self._wake.wait()
                timer.cancel()
            for _ in range(_LOOKS if len(self._queue) == 1 else 0):
                await asyncio.sleep(0)
            tasks: list[Task] = []
            futures, rows = [], 0
            while self._queue and rows < _MOST_ROWS:
                task, size, future = self._queue.popleft()
                tasks.append(task)
                futures.append(future)
                rows += size
            is_local = self.log is None or self.log.is_local  # a database may keep one waiting
            if len(tasks) == 1 and rows <= _FEW and is_local and not callable(tasks[0]):
                _tell(futures, self._done(tasks))
                await asyncio.sleep(0)  # the answer is sent
            elif tasks:
                _tell(futures, await loop.run_in_executor(self._thread, self._done, tasks))
            self.waiting -= rows
            has_labels = any(isinstance(task, Labels) for task in tasks)
            if self.log is not None and (has_labels or time.monotonic() - self._looked >= _POLL):
                await loop.run_in_executor(self._thread, self._learn)

    def stop(self) -> None:
        """Take no more work."""
        self._closing = True
        self._wake.set()

    def close(self) -> None:
        """Write a last snapshot, and close the log."""
        if self.log is not None:
            try:
                self._maintain(closing=True)
            except LogError as error:
                self._note(error)
            self._writer.shutdown()
            self.log.close()
        self._thread.shutdown()

    # Answers

    def _done(self, tasks: list[Task]) -> list[Any]:
        """The answer to each task, or the exception that it ends with."""
        answers = iter(self._answered([task for task in tasks if not callable(task)]))
        done: list[Any] = []
        for task in tasks:
            try:
                done.append(task() if callable(task) else next(answers))
            except Exception as error:
                done.append(error)
        return done

    def _answered(self, tasks: list[Predict | Labels]) -> list[Any]:
        """The answers to rows and labels, each with an exception of its own if it fails."""
        try:
            return self._answer(tasks) if tasks else []
        except Exception as error:
            if len(tasks) > 1 and not isinstance(error, LogError):
                return [answer for task in tasks for answer in self._answered([task])]
            if not isinstance(error, ValueError):
                self._note(error)
            return [error] * len(tasks)

    def _answer(self, tasks: list[Predict | Labels]) -> list[Any]:
        """Score all rows of a batch, write predictions and labels in one transaction."""
        most = max((task.top for task in tasks if isinstance(task, Predict)), default=1)
        scored = iter(self._scored([row for task in tasks for row in task.rows], most))
        ids = sorted({label.id for t in tasks if isinstance(t, Labels) for label in t.labels})
        predictions: list[Prediction] = []
        labels: list[LabelRow] = []
        answers: list[Any] = []
        with nullcontext() if self.log is None else self.log.transaction(orders=bool(ids)):
            known, at = ({}, 0.0) if self.log is None else (self.log.known(ids), self.log.time())
            for task in tasks:
                if isinstance(task, Predict):
                    answers.append(self._predict(task, scored, at, predictions))
                else:
                    guesses = [next(scored)["label"] for _ in task.rows]
                    answers.append(self._label(task, guesses, at, known, predictions, labels))
            if self.log is not None:
                self.log.add_predictions(predictions)
                self.log.add_labels(labels)
        for task, answer in zip(tasks, answers, strict=True):
            if isinstance(task, Predict):
                self.counts["predictions"] += len(task.rows)
            elif not isinstance(answer, Exception):
                self.counts.update(label["status"] for label in answer)
        return answers

    def _scored(self, rows: list[Row], most: int) -> list[dict[str, Any]]:
        """The answer to each row, with so many of its best labels."""
        if not rows:
            return []
        model, version = self.current, self.version
        if len(model.classes) < 2:
            only = next(iter(model.classes), None)
            return [{"label": only, "version": version} for _ in rows]
        hashed = self.reader.hashed(rows)
        scores = model.scores(hashed)
        kind, values = "score", own_scores(scores)
        if model.calibration is not None:
            kind, values = "probability", model.probabilities(scores)
        key, codes = "label", model.decide(scores)
        if model.multilabel:
            key, names = "labels", np.array(model.classes, object)
            labels = [names[chosen].tolist() for chosen in codes]
        else:
            labels = [model.classes[code] for code in codes.tolist()]
        ranked = model.ranked(scores, values)[:, :most].tolist()
        shares = self._unseen_shares(hashed).round(4).tolist()
        answers = []
        for label, first, x, share in zip(labels, ranked, values.tolist(), shares, strict=True):
            top = [{"label": model.classes[code], kind: x[code]} for code in first]
            answer = {key: label, "version": version, kind: x[first[0]], "unseen": share}
            answers.append(answer | {"top": top})
        return answers

    def _unseen_shares(self, hashed: Rows) -> Any:
        """The share of the features of each row that the model has no weights for."""
        pointers = hashed.indptr.astype(np.int64)
        is_unseen = self.current._numbering.places_of(hashed.indices) < 0
        counts = np.diff(np.concatenate([[0], np.cumsum(is_unseen)])[pointers])
        shares = counts / np.maximum(1, np.diff(pointers))
        self.counts["scored"] += len(shares)
        rate = min(1.0, len(shares) / min(1000, self.counts["scored"]))
        self.unseen += rate * (float(shares.mean()) - self.unseen)
        return shares

    def _predict(
        self,
        task: Predict,
        scored: Iterator[dict[str, Any]],
        at: float,
        predictions: list[Prediction],
    ) -> list[dict[str, Any]]:
        """The answers to rows; if there is a log, each has an id, and is added to predictions."""
        answers = []
        for i, row in enumerate(task.rows):
            answer = next(scored)
            top = answer.pop("top", None)
            if self.log is not None:
                answer["id"] = new_id(at)
                predictions.append(
                    Prediction(answer["id"], at, row, answer["label"], answer["version"])
                )
            if top is not None and task.top > 1:
                answer["top"] = top[: task.top]
            if top is not None and task.explain and i < _MOST_EXPLAINED:
                label = answer["labels"] if "labels" in answer else answer["label"]
                answer["explanation"] = self.explained(row, label, 20)
            answers.append(answer)
        return answers

    def explained(self, row: Row, label: Any, most: int) -> list[dict[str, Any]]:
        """The features of a row that speak most for a label, or against it."""
        explanation = self.current.explain(self.reader.table([row]))
        top = explanation.top(most, None if isinstance(label, list) else label)
        # Of two classes contributions are to the second.
        sign = -1.0 if len(explanation.bias) == 1 and label == explanation.classes[0] else 1.0
        return [{"feature": str(name), "contribution": sign * value} for name, value in top]

    def _label(
        self,
        task: Labels,
        guesses: list[Any],
        at: float,
        known: dict[str, Known],
        predictions: list[Prediction],
        labels: list[LabelRow],
    ) -> Any:
        """The answers to labels, which are added to the others; or why none of them is taken."""
        absent = [label.id for label in task.labels if label.id not in known and label.row is None]
        if absent:
            return UnknownId(
                f"no prediction has the id {absent[0]!r}: send the row with the label, or check "
                "the id (predictions that were not labelled may be forgotten)"
            )
        assert self.online is not None
        names = self._labels.union(self.online.classes, (label.label for label in task.labels))
        if len(names) > max(MOST_CLASSES, len(self.online.classes)):
            return ValueError(
                f"a model has at most {MOST_CLASSES:,} classes, and this would be one more: label "
                "rows by classes, not by names or amounts"
            )
        self._labels = names
        answers, guess = [], iter(guesses)
        for id, name, weight, row in task.labels:
            predicted = None if row is None else next(guess)
            if id not in known:
                assert row is not None
                known[id] = Known(predicted, None, 1.0)
                predictions.append(Prediction(id, at, row, predicted, self.version))
            before = known[id]
            answer = {"id": id, "status": "accepted", "predicted": before.predicted}
            if (before.label, before.weight) == (name, weight):
                answer["status"] = "repeated"
            else:
                if before.label is not None:
                    answer |= {"status": "corrected", "replaced": before.label}
                labels.append((id, at, name, weight, before.label))
            known[id] = Known(before.predicted, name, weight)
            answers.append(answer)
        return answers

    # Learning

    def _learn(self) -> None:
        """Learn from the log for some time, and do what is due."""
        self._looked = time.monotonic()
        try:
            while self.failure is None and self._follow(_LABELS):
                if time.monotonic() - self._looked > _LEARN_SECONDS:
                    break
            self._maintain()
        except LogError as error:
            self._note(error)
            self._looked += _PAUSE

    def _follow(self, most: int) -> bool:
        """Learn the next labels of the log; returns whether there may be more."""
        assert self.log is not None
        assert self.online is not None
        events = self.log.events(self.online.position, most)
        try:
            self.online.learn(events)
        except Exception as error:
            self.failure = f"{type(error).__name__}: {error}"
            self._note(error)
            return False
        alarms = self.online.record.alarms
        if events and alarms and alarms[-1]["position"] >= events[0].position:
            say("drift", **alarms[-1])
        return len(events) == most

    def _note(self, error: Exception) -> None:
        """Count an error, and say it unless it was said just now."""
        self.counts["errors"] += 1
        said = f"{type(error).__name__}: {error}"
        if said != self._said[0] or time.monotonic() - self._said[1] > _PAUSE:
            self._said = said, time.monotonic()
            say("error", error=said)

    def _maintain(self, closing: bool = False) -> None:
        """Be the learner if nobody else is; write a snapshot and forget columns when it is time."""
        assert self.log is not None
        assert self.online is not None
        if not self.learns:
            return
        now, new = time.monotonic(), self.online.position - self._snapshot_position
        due = closing or new >= _SNAPSHOT_LABELS or now - self._snapshot_time >= _SNAPSHOT_SECONDS
        if due or (not self.is_learner and now - self._asked >= _ASK_SECONDS):
            was, self.is_learner = self.is_learner, self.log.become_learner()
            self._asked = now
            if self.is_learner != was:
                say("learner", learns=self.is_learner)
        if not self.is_learner:
            return
        if self.forget_after is not None and (now >= self._forget_time or closing):
            before = time.time() - self.forget_after
            count = self.log.forget(before, _MOST_ROWS, self.reader.packed)
            self._forget_time = now + (_FORGET_SECONDS if count < _MOST_ROWS else 0.0)
        if due and (self._writing is None or self._writing.done()):
            self._snapshot_time = now
            if new and self.failure is None:
                arrays, about = self.online.snapshot()
                self._snapshot_position = self.online.position
                about |= {"log": self.identity}
                self._writing = self._writer.submit(self._write, self.log, arrays, about)

    def _write(self, log: Log, arrays: dict[str, Any], about: dict[str, Any]) -> None:
        try:
            log.save_snapshot(arrays, about)
        except Exception as error:  # a full disk: the log holds all that is needed
            say("error", error=f"no snapshot: {type(error).__name__}: {error}")


def _tell(futures: list[asyncio.Future[Any]], answers: list[Any]) -> None:
    """Give answers to those who still wait for them."""
    for future, answer in zip(futures, answers, strict=True):
        if not future.done():
            failed = isinstance(answer, Exception)
            (future.set_exception if failed else future.set_result)(answer)


def say(event: str, **facts: Any) -> None:
    """Write a line of JSON to the standard error stream; texts of rows are never in it."""
    line = json.dumps({"time": round(time.time(), 3), "event": event} | facts)
    print(line, file=sys.stderr, flush=True)
