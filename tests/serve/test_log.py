"""The log: what is in it stays, in its order."""

import sqlite3
import time

import pytest

from rosenblatt import train
from rosenblatt.errors import DataError, OptionError
from rosenblatt.models import tensorfile
from rosenblatt.serve import log as log_module
from rosenblatt.serve.log import LogError, Prediction, open_log
from rosenblatt.serve.online import Online, Start

from .conftest import bits, stream, text_start


def write(log, events):
    with log.transaction(orders=True):
        log.add_predictions(
            Prediction(e.id, e.time, e.content, e.predicted, e.version) for e in events
        )
        log.add_labels([(e.id, e.time, e.label, e.weight, e.replaced) for e in events])


@pytest.fixture(params=["sqlite", "postgresql"])
def log(request, tmp_path):
    """A log in each store."""
    name = str(tmp_path / "events.db")
    if request.param == "postgresql":
        name = request.getfixturevalue("database")
    opened = open_log(name)
    opened.begin(text_start())
    yield opened
    opened.close()


def test_labels_come_back_in_their_order_with_their_rows(log):
    events = stream(1200)
    write(log, events[:700])
    write(log, events[700:])
    assert log.events(0, 700) == events[:700]
    assert log.events(700, 5000) == events[700:]
    assert log.last_position() == 1200
    assert log.last_position(until=30.5) == 30
    assert [e.position for part in log.events_at([3, 900]) for e in part] == [3, 900]
    assert log.versions()[:2] == [(1, 0), (2, 1)]


def test_it_begins_once_and_keeps_start_model_and_identity(log):
    about = log.about()
    log.begin(text_start(rule="pa1"))
    assert log.about() == about
    assert log.start().settings["rule"] == "arow"


def test_a_start_model_is_in_the_log(tmp_path, monkeypatch):
    monkeypatch.setattr(log_module, "_PART", 1000)
    rows = stream(40)
    frame = {"text": [e.content["text"] for e in rows], "label": [e.label for e in rows]}
    model = train(frame, text="text", epochs=1)
    log = open_log(str(tmp_path / "events.db"))
    log.begin(Start.of(text_start().options, model.features, model))
    assert log.start().model.weights.tolist() == model.weights.tolist()


def test_what_fails_leaves_nothing(log):
    write(log, stream(3))
    with pytest.raises(LogError):
        write(log, stream(5))  # ids that are there
    assert log.last_position() == 3
    write(log, stream(2, first=4))
    assert [e.id for e in log.events(0, 10)] == ["id1", "id2", "id3", "id4", "id5"]


def test_what_is_known_of_ids_is_their_last_label(log):
    write(log, stream(600))
    with log.transaction(orders=True):
        log.add_labels([("id5", 999.0, "other", 2.0, "neg")])
    known = log.known([f"id{i}" for i in range(601)])
    assert len(known) == 600
    assert (known["id5"].label, known["id5"].weight) == ("other", 2.0)
    assert log.events(600, 10)[0].replaced == "neg"


def test_one_process_is_the_learner(log):
    other = open_log(str(log.path) if hasattr(log, "path") else log._address, create=False)
    assert log.become_learner()
    assert log.become_learner()
    assert not other.become_learner()
    log.close()
    assert other.become_learner()
    other.close()


def test_times_never_fall_when_the_clock_is_set_back(log, monkeypatch):
    write(log, [e._replace(time=2e9) for e in stream(1)])
    monkeypatch.setattr(time, "time", lambda: 1.7e9)
    assert log.time() == 2e9


def test_a_snapshot_gives_the_model_of_a_replay(log):
    write(log, stream(300))
    online, _ = log.online()
    online.learn(log.events(0, 200))
    arrays, about = online.snapshot()
    log.save_snapshot(arrays, about | {"log": log.about()["log"]})
    restored, note = log.online()
    assert (restored.position, note) == (200, "")
    restored.learn(log.events(200, 200))
    replayed = Online(log.start())
    replayed.learn(log.events(0, 1000))
    assert bits(restored) == bits(replayed)


@pytest.mark.parametrize("why", ["another log", "ahead", "damaged"])
def test_a_snapshot_of_no_use_is_replaced_by_a_replay(begun, why):
    log = begun()
    write(log, stream(10))
    online = Online(log.start())
    online.learn(log.events(0, 10))
    arrays, about = online.snapshot()
    about |= {"log": "other" if why == "another log" else log.about()["log"]}
    about |= {"position": 99} if why == "ahead" else {}
    log.save_snapshot(arrays, about)
    if why == "damaged":
        log._snapshot.write_bytes(b"no")
    online, note = log.online()
    assert online.position == 0
    assert "replayed" in note


def test_forgetting_keeps_the_bits_of_a_replay_and_drops_the_texts(log):
    write(log, stream(50))
    with log.transaction():
        log.add_predictions([Prediction("unlabelled", 1.0, {"text": "secret"}, None, 0)])
    before = Online(log.start())
    before.learn(log.events(0, 100))
    assert log.forget(25.5, 100, before.reader.packed) == 25
    events = log.events(0, 100)
    assert [isinstance(e.content, bytes) for e in events] == [True] * 25 + [False] * 25
    assert log.known(["unlabelled"]) == {}
    after = Online(log.start())
    after.learn(events)
    assert bits(after) == bits(before)


def test_forgotten_texts_are_not_in_the_file(begun):
    log = begun()
    write(log, [e._replace(content={"text": "unforgettable"}) for e in stream(20)])
    log.forget(100.0, 100, Online(log.start()).reader.packed)
    log.close()
    sqlite3.connect(log.path).execute("PRAGMA wal_checkpoint(TRUNCATE)").connection.close()
    assert b"unforgettable" not in log.path.read_bytes()


def test_what_is_not_a_log_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("not a database, " * 200)
    with pytest.raises(DataError, match="not a log"):
        open_log(str(tmp_path / "notes.txt"))
    with pytest.raises(DataError, match="no such log"):
        open_log(str(tmp_path / "absent.db"), create=False)
    with pytest.raises(OptionError, match="no such folder"):
        open_log(str(tmp_path / "absent" / "events.db"))
    with pytest.raises(DataError, match="begin it"):
        open_log(str(tmp_path / "new.db")).start()
    with pytest.raises(DataError, match=r"postgresql://127\.0\.0\.1:1/x"):
        open_log("postgresql://me:secret@127.0.0.1:1/x")


def test_a_snapshot_file_is_replaced_whole(begun):
    log = begun()
    online = Online(log.start())
    for _ in range(2):
        arrays, about = online.snapshot()
        log.save_snapshot(arrays, about | {"log": "x"})
    assert tensorfile.read(log._snapshot)[1]["position"] == 0
    assert sorted(p.name for p in log.path.parent.iterdir() if "unfinished" in p.name) == []
