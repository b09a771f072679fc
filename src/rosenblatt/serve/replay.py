"""The model of any moment of a log, without some of its rows, or by another rule."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from operator import itemgetter

from rosenblatt.errors import OptionError
from rosenblatt.serve.log import Log, open_log
from rosenblatt.serve.online import Event, Online, Start

_MOST_LABELS = 4096  # learned at a time


@dataclass(frozen=True)
class Replay:
    """What a replay ends in.

    The record of the model is that of the log, or with another rule of what that rule would have
    predicted.
    """

    online: Online
    labels: int  # that were learned
    left_out: int


def replay(
    log: Log | str,
    *,
    until: str | float | None = None,
    without: Collection[str] = (),
    rule: str | None = None,
) -> Replay:
    """Learn the labels of a log again.

    Parameters
    ----------
    log : Log or str
        The log, or its file or address.
    until : str or float, optional
        A date such as ``2025-03-31`` or ``2025-03-31T17:30``, in the time zone of this machine
        unless it names one, or seconds since 1970: labels after it are left out.
    without : collection of str
        Ids of rows that are left out, as if they had never been there.
    rule : str, optional
        Another learning rule, such as ``"arow:r=0.5"``. Each row is then predicted again by the
        model that this rule would have had when the row was predicted: labels that came later
        are unknown to it.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from rosenblatt import TrainOptions
    >>> from rosenblatt.data import Column
    >>> from rosenblatt.data.features import Features
    >>> from rosenblatt.serve.log import Prediction
    >>> log = open_log(str(pathlib.Path(tempfile.mkdtemp()) / "events.db"))
    >>> log.begin(Start.of(TrainOptions(), Features(columns=(Column("text", "text"),))))
    >>> for i, (text, label) in enumerate([("good", "pos"), ("dull", "neg"), ("fun", "pos")]):
    ...     with log.transaction(orders=True):
    ...         log.add_predictions([Prediction(str(i), i, {"text": text}, None, i)])
    ...         log.add_labels([(str(i), i, label, 1.0, None)])
    >>> replay(log).online.model.predict(["fun", "dull"]).tolist()
    ['pos', 'neg']
    >>> replay(log, without=["2"]).labels, replay(log, until=0.5).labels
    (2, 1)
    >>> replay(log, rule="pa1").online.record.mistakes
    2
    """
    opened = open_log(log, create=False) if isinstance(log, str) else log
    try:
        start = opened.start()
        last = opened.last_position(math.inf if until is None else seconds_of(until))
        if rule is not None:
            start = replace(start, settings=start.settings | {"rule": rule})
            start = Start.of(start.options, start.features, start.model)
        online, absent, counts = Online(start), set(without), [0, 0]

        def chosen() -> Iterator[list[Event]]:
            for events in _parts(opened, last):
                present = [event for event in events if event.id not in absent]
                counts[0] += len(present)
                counts[1] += len(events) - len(present)
                yield present

        if rule is None:
            for events in chosen():
                online.learn(events)
        else:
            _learn_predicting(opened, online, chosen(), last, absent)
        return Replay(online, *counts)
    finally:
        if isinstance(log, str):
            opened.close()


def _parts(log: Log, last: int) -> Iterator[list[Event]]:
    """The labels of a log up to a position, in parts."""
    position = 0
    while events := log.events(position, _MOST_LABELS):
        position = events[-1].position
        if position > last:
            events = [event for event in events if event.position <= last]
        if events:
            yield events
        if position >= last:
            return


def _learn_predicting(
    log: Log, online: Online, parts: Iterator[list[Event]], last: int, absent: Collection[str]
) -> None:
    """Learn labels, and predict each row when it was predicted first, to count the mistakes."""
    ahead: list[Event] = []  # the next labels, last first
    guesses: dict[int, str | None] = {}

    def learn_up_to(position: float) -> None:
        part: list[Event] = []
        while True:
            if not ahead:
                ahead.extend(reversed(next(parts, [])))
            if not ahead or ahead[-1].position > position:
                break
            event = ahead.pop()
            part.append(event._replace(predicted=guesses.pop(event.position, None)))
        online.learn(part)

    for version, group in groupby(log.versions(), itemgetter(1)):
        learn_up_to(version)
        positions = [position for position, _ in group if position <= last]
        for events in log.events_at(positions):
            contents = [event.content for event in events if event.id not in absent]
            numbers = [event.position for event in events if event.id not in absent]
            guesses |= zip(numbers, online.guess(contents), strict=True)
    learn_up_to(math.inf)


def seconds_of(time: str | float) -> float:
    """Seconds since 1970 of a date, or of such seconds.

    >>> seconds_of("2025-03-31T17:30:00+00:00"), seconds_of("12.5")
    (1743442200.0, 12.5)
    """
    try:
        return float(time)
    except ValueError:
        pass
    try:
        return datetime.fromisoformat(str(time)).timestamp()
    except ValueError:
        raise OptionError(
            f"{time!r} is not a time: say 2025-03-31, 2025-03-31T17:30 or seconds since 1970"
        ) from None
