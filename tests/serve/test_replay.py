"""A log learned again: the model of any moment, without some rows, or by another rule."""

import pytest

from rosenblatt.errors import OptionError
from rosenblatt.serve.online import Online
from rosenblatt.serve.replay import replay, seconds_of

from .conftest import bits, stream, text_start
from .test_log import write


def of_events(events, **settings):
    online = Online(text_start(**settings))
    online.learn(events)
    return bits(online)


def test_until_gives_the_model_of_that_moment(begun):
    log, events = begun(), stream(80)
    write(log, events)
    assert bits(replay(log, until=50.5).online) == of_events(events[:50])
    assert bits(replay(str(log.path)).online) == of_events(events)
    assert replay(log, until=0.0).labels == 0


def test_without_gives_the_model_as_if_the_rows_had_never_been_there(begun):
    log, events = begun(), stream(80)
    write(log, events)
    absent = {events[3].id, events[40].id}
    left = [event for event in events if event.id not in absent]
    ended = replay(log, without=absent)
    assert bits(ended.online) == of_events(left)
    assert (ended.labels, ended.left_out) == (78, 2)


def test_another_rule_predicts_each_row_as_of_when_it_was_predicted(begun):
    log = begun()
    events = [e._replace(version=max(0, e.position - 1 - 10)) for e in stream(120, ("a", "b", "c"))]
    write(log, events)
    mistakes, online = 0, Online(text_start(rule="pa1"))
    guesses = {}
    for event in events:  # the plain way: score each row with the model of its version
        for other in events:
            if other.version == online.position:
                [guesses[other.position]] = online.guess([other.content])
        guess = guesses[event.position]
        mistakes += guess is not None and guess != event.label
        online.learn([event])
    ended = replay(log, rule="pa1")
    assert ended.online.record.mistakes == mistakes
    assert ended.online.record.labels == 109
    assert bits(ended.online) == of_events(events, rule="pa1")
    fewer = replay(log, rule="pa1", without=["id7"], until=100.0)
    assert (fewer.labels, fewer.left_out) == (99, 1)


def test_the_rule_of_the_log_predicts_again_what_it_predicted(begun):
    log, events, online = begun(), stream(60), Online(text_start())
    for event in events:
        [guess] = online.guess([event.content])
        write(log, [event._replace(predicted=guess)])
        online.learn([event._replace(predicted=guess)])
    assert replay(log).online.record == online.record
    assert replay(log, rule="arow").online.record == online.record


def test_a_time_that_is_none_is_refused():
    with pytest.raises(OptionError, match="not a time"):
        seconds_of("yesterday")
