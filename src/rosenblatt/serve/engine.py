"""Answers requests in batches: score, write to the log, learn from it.

All work on the model and the log is done by one thread, a batch at a time: what came while the
last batch was written is the next one. A commit costs the same for one row as for a thousand.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
import time
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rosenblatt.learners.problems import decided, own_scores
from rosenblatt.models.model import Model
from rosenblatt.serve.log import Known, Log, LogError, Prediction, new_id
from rosenblatt.serve.online import Online, bytes_of
from rosenblatt.serve.rows import Row, RowReader
from rosenblatt.serve.work import Busy, Call, Labels, Predict, Scored, UnknownId, Work

_MOST_ROWS = 4096  # of a batch, and labels learned at a time
_MOST_EXPLAINED = 100  # rows of a request
_POLL = 0.1  # seconds between looks at the log, for the labels that other servers took
_SNAPSHOT_SECONDS, _SNAPSHOT_LABELS = 60.0, 20_000
_PAUSE = 2.0  # seconds until the next look, after one that failed
_ASK_SECONDS = 1.0  # between attempts to become the learner
_FORGET_SECONDS = 600.0


@dataclass
class Engine:
    """The model of a service and its log.

    Parameters
    ----------
    model : Model
        The model to answer by, if there is no log.
    log : Log
        The log to answer by and to follow.
    learns : bool
        Whether to be the learner of the log, as soon as no other process is: the learner writes
        the snapshots. Every server learns from the log by itself, so that all have the same bits.
    most_waiting : int
        The rows that may wait.
    forget_after : float
        The seconds after which the log forgets columns of rows.
    """

    model: Model | None = None
    log: Log | None = None
    learns: bool = False
    most_waiting: int = 20_000
    forget_after: float | None = None
    counts: Counter[str] = field(default_factory=Counter)
    failure: str | None = None  # why the model learns no more
    is_learner: bool = False
    online: Online | None = None
    waiting: int = 0
    identity: str = field(default_factory=lambda: secrets.token_hex(8))  # of the log, if any
    unseen: float = 0.0  # the share of features without weights, in about the last thousand rows

    def open(self) -> None:
        """Load the model, and learn what is in the log."""
        self._queue: deque[tuple[Work | Call, asyncio.Future[Any]]] = deque()
        self._thread = ThreadPoolExecutor(1, "engine")
        self._writer = ThreadPoolExecutor(1, "snapshots")
        self._writing: Any = None
        self._said = "", 0.0  # the last error, and when it was said
        now = time.monotonic()
        self._snapshot_time = self._asked = self._looked = now
        self._forget_time = now
        self._closing = False
        if self.log is None:
            assert self.model is not None
            self.reader = RowReader(self.model.features)
        else:
            self.is_learner = self.learns and self.log.become_learner()
            self.identity = self.log.about()["log"]
            self.online, note = self.log.online()
            if note:
                say("snapshot", note=note)
            self.reader = self.online.reader
            self._snapshot_position = self.online.position
            while self._follow():
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

    async def submit(self, work: Work | Call) -> Any:
        """Wait for work to be done; raises Busy if too much waits already."""
        if self.waiting + work.size > self.most_waiting:
            raise Busy(f"{self.waiting:,} rows wait already; ask again later")
        future = asyncio.get_running_loop().create_future()
        self._queue.append((work, future))
        self.waiting += work.size
        self._wake.set()
        return await future

    async def run(self) -> None:
        """Do the work that comes, until :meth:`stop`; then what was accepted."""
        self._wake, loop = asyncio.Event(), asyncio.get_running_loop()
        while self._queue or not self._closing:
            if not self._queue:
                self._wake.clear()
                timer = loop.call_later(_POLL, self._wake.set)
                await self._wake.wait()
                timer.cancel()
            batch: list[tuple[Work | Call, asyncio.Future[Any]]] = []
            size = 0
            while self._queue and (not batch or size + self._queue[0][0].size <= _MOST_ROWS):
                batch.append(self._queue.popleft())
                size += batch[-1][0].size
            if not batch and self.log is None:
                continue
            works = [work for work, _ in batch]
            answers = await loop.run_in_executor(self._thread, self._process, works)
            self.waiting -= size
            for (_, future), answer in zip(batch, answers, strict=True):
                if not future.done():
                    failed = isinstance(answer, Exception)
                    (future.set_exception if failed else future.set_result)(answer)

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
                self._note_failure(error)
            self._writer.shutdown()
            self.log.close()
        self._thread.shutdown()

    # In the thread

    def _process(self, batch: list[Work | Call]) -> list[Any]:
        """The answer to each work, or the exception that it ends with."""
        works = [work for work in batch if not isinstance(work, Call)]
        answers = iter(self._answered(works))
        if self.log is not None and (works or time.monotonic() - self._looked >= _POLL):
            self._looked = time.monotonic()
            try:
                if self.failure is None:
                    self._follow()
                self._maintain()
            except LogError as error:
                self._note_failure(error)
                self._looked += _PAUSE
        return [_result(w.function) if isinstance(w, Call) else next(answers) for w in batch]

    def _answered(self, batch: list[Work]) -> list[Any]:
        """The answers to a batch, which never fails for what is wrong with one of its works."""
        try:
            return self._answer(batch) if batch else []
        except Exception as error:
            if len(batch) > 1 and not isinstance(error, LogError):
                return [answer for work in batch for answer in self._answered([work])]
            self._note_failure(error, learning=False)
            return [error] * len(batch)

    def _answer(self, batch: list[Work]) -> list[Any]:
        """Score all rows of a batch, write predictions and labels in one transaction."""
        scored = self._scored([row for work in batch for row in work.rows])
        parts, start = [], 0
        for work in batch:
            parts.append((work, scored.part(start, start + len(work.rows))))
            start += len(work.rows)
        predictions: list[Prediction] = []
        labels: list[tuple[str, float, str, float, str | None]] = []
        asked = [label.id for work in batch if isinstance(work, Labels) for label in work.labels]
        answers: list[Any] = []
        if self.log is None or not (asked or any(w.keep for w in batch if isinstance(w, Predict))):
            answers = [self._predicted(work, part, []) for work, part in parts]
        else:
            with self.log.transaction(orders=bool(asked)):
                known, at = self.log.known(sorted(set(asked))), self.log.time()
                for work, part in parts:
                    if isinstance(work, Labels):
                        answers.append(self._label(work, part, at, known, predictions, labels))
                        continue
                    ids = [new_id(at) for _ in work.rows] if work.keep else []
                    answers.append(self._predicted(work, part, ids))
                    named = zip(ids, work.rows, part.labels, strict=False)
                    predictions += [Prediction(i, at, r, n, self.version) for i, r, n in named]
                if predictions:
                    self.log.add_predictions(predictions)
                if labels:
                    self.log.add_labels(labels)
        for work, answer in zip(batch, answers, strict=True):
            if isinstance(work, Predict):
                self.counts["predictions"] += len(work.rows)
            elif not isinstance(answer, Exception):
                self.counts.update(label["status"] for label in answer)
        return answers

    def _scored(self, rows: list[Row]) -> Scored:
        if not rows:
            return Scored([])
        model = self.current
        if len(model.classes) < 2:
            return Scored([next(iter(model.classes), None)] * len(rows))
        hashed = self.reader.hashed(rows)
        scores = model.scores(hashed)
        places = model._numbering.places_of(hashed.indices)
        misses = np.concatenate([[0], np.cumsum(places < 0)])[hashed.indptr.astype(np.int64)]
        unseen = np.diff(misses) / np.maximum(1, np.diff(hashed.indptr.astype(np.int64)))
        self.counts["scored"] += len(rows)
        rate = min(1.0, len(rows) / min(1000, self.counts["scored"]))
        self.unseen += rate * (float(unseen.mean()) - self.unseen)
        values = own_scores(scores)
        if model.multilabel:
            names = np.array(model.classes, object)
            labels = [names[chosen].tolist() for chosen in model.decide(scores)]
        else:
            codes = decided(scores, model.threshold).tolist()
            labels = [model.classes[code] for code in codes]
        probabilities = None if model.calibration is None else model.probabilities(scores)
        return Scored(labels, scores, values if probabilities is None else probabilities, unseen)

    def _predicted(self, work: Any, scored: Scored, ids: list[str]) -> list[dict[str, Any]]:
        """The answers to rows; those that may be labelled have ids."""
        model, answers = self.current, []
        kind = "score" if model.calibration is None else "probability"
        key = "labels" if model.multilabel else "label"
        ranked = None
        if scored.scores is not None:
            ranked = model.ranked(scored.scores, scored.values)[:, : work.top].tolist()
            values = scored.values.tolist()
        for i, row in enumerate(work.rows):
            answer: dict[str, Any] = {key: scored.labels[i], "version": self.version}
            if ids:
                answer["id"] = ids[i]
            if ranked is not None:
                answer[kind] = values[i][ranked[i][0]]
                answer["unseen"] = round(float(scored.unseen[i]), 4)
                if work.top > 1:
                    answer["top"] = [
                        {"label": model.classes[c], kind: values[i][c]} for c in ranked[i]
                    ]
                if work.explain and i < _MOST_EXPLAINED:
                    answer["explanation"] = self.explained(row, scored.labels[i], 20)
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
        work: Labels,
        scored: Scored,
        at: float,
        known: dict[str, Known],
        predictions: list[Prediction],
        labels: list[tuple[str, float, str, float, str | None]],
    ) -> Any:
        """Add the rows of some labels to those to write; an UnknownId if there is none for one."""
        absent = [label.id for label in work.labels if label.id not in known and label.row is None]
        if absent:
            return UnknownId(
                f"no prediction has the id {absent[0]!r}: send the row with the label, or check "
                "the id (predictions that were not labelled may be forgotten)"
            )
        answers, guesses = [], iter(scored.labels)
        for label in work.labels:
            guess = next(guesses) if label.row is not None else None
            if label.id in known:
                before = known[label.id]
            else:
                assert label.row is not None
                before = Known(guess, None, 1.0)
                predictions.append(Prediction(label.id, at, label.row, guess, self.version))
            status, replaced = "accepted", before.label
            if before.label is not None:
                same = before.label == label.label and before.weight == label.weight
                status = "repeated" if same else "corrected"
            answer = {"id": label.id, "status": status, "predicted": before.predicted}
            if status == "corrected":
                answer["replaced"] = replaced
            if status != "repeated":
                labels.append((label.id, at, label.label, label.weight, replaced))
            known[label.id] = Known(before.predicted, label.label, label.weight)
            answers.append(answer)
        return answers

    # Learning

    def _follow(self) -> bool:
        """Learn the next labels of the log; returns whether there may be more."""
        assert self.log is not None
        assert self.online is not None
        events = self.log.events(self.online.position, _MOST_ROWS)
        try:
            self.online.learn(events)
        except Exception as error:
            self._note_failure(error)
            return False
        alarms = self.online.record.alarms
        if events and alarms and alarms[-1]["position"] >= events[0].position:
            say("drift", **alarms[-1])
        return len(events) == _MOST_ROWS

    def _note_failure(self, error: Exception, learning: bool = True) -> None:
        if isinstance(error, ValueError) and not learning:
            return
        if learning and not isinstance(error, LogError):
            self.failure = f"{type(error).__name__}: {error}"
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
        if not (due and self.is_learner) or (
            self._writing is not None and not self._writing.done()
        ):
            return
        self._snapshot_time = now
        if new and self.failure is None:
            arrays, about = self.online.snapshot()
            self._snapshot_position = self.online.position
            about |= {"log": self.identity}
            self._writing = self._writer.submit(self._write, arrays, about)
        if self.forget_after is not None and (now >= self._forget_time or closing):
            self._forget_time = now + _FORGET_SECONDS
            self.forget(time.time() - self.forget_after)

    def _write(self, arrays: dict[str, Any], about: dict[str, Any]) -> None:
        assert self.log is not None
        try:
            self.log.save_snapshot(arrays, about)
        except Exception as error:  # a full disk: the log holds all that is needed
            say("error", error=f"no snapshot: {type(error).__name__}: {error}")

    def forget(self, before: float) -> int:
        """Replace the columns of rows before a time by their features; returns how many."""
        assert self.log is not None
        count = 0
        while True:
            rows = self.log.forgettable(before, _MOST_ROWS)
            hashed = self.reader.hashed([row for _, row in rows])
            features = [(bytes_of(hashed, i), id) for i, (id, _) in enumerate(rows)]
            self.log.forget(features, before)
            count += len(rows)
            if len(rows) < _MOST_ROWS:
                return count


def _result(function: Callable[[], Any]) -> Any:
    """What a function returns, or raises."""
    try:
        return function()
    except Exception as error:
        return error


def say(event: str, **facts: Any) -> None:
    """Write a line of JSON to the standard error stream; texts of rows are never in it."""
    line = json.dumps({"time": round(time.time(), 3), "event": event} | facts)
    print(line, file=sys.stderr, flush=True)
