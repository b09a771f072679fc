"""The service over HTTP: what it answers, to whom, and what it refuses."""

import json
import socket
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt import TrainOptions, load, train
from rosenblatt.errors import OptionError
from rosenblatt.kernels.jit import Kernel, types_of
from rosenblatt.serve import engine as engine_module
from rosenblatt.serve.app import serve
from rosenblatt.serve.engine import Engine
from rosenblatt.serve.guard import Limits, Tokens
from rosenblatt.serve.log import open_log
from rosenblatt.serve.online import Start
from rosenblatt.serve.openapi import description
from rosenblatt.serve.replay import replay
from rosenblatt.serve.rows import Predict

from .conftest import caught_up, running, stream, text_start

TOKENS = Tokens("predict-" + "p" * 20, "label-" + "l" * 20)


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture(scope="module")
def model():
    rows = stream(200)
    frame = {"text": [e.content["text"] for e in rows], "label": [e.label for e in rows]}
    return train(frame, text="text")


@pytest.fixture
def learning(begun):
    """A client of a server that learns, and its engine."""
    engine = Engine(log=begun(), learns=True)
    with running(engine) as client:
        client.engine = engine
        yield client


def teach(client, events):
    """Predict and label rows one by one, as the world would."""
    for event in events:
        answer = client.post("/v1/predict", json=event.content).json()
        label = {"id": answer["id"], "label": event.label}
        assert client.post("/v1/label", json=label).json()["status"] == "accepted"


# Predictions


def test_a_model_answers_texts_objects_lists_lines_and_arrow_alike(model):
    rows = [e.content["text"] for e in stream(5)]
    expected = model.predict(rows).tolist()
    probabilities = model.predict_proba(rows).max(axis=1)
    with running(Engine(model)) as client:
        many = client.post("/v1/predict", json=rows).json()
        assert [row["label"] for row in many] == expected
        assert np.allclose([row["probability"] for row in many], probabilities)
        assert client.post("/v1/predict", json=rows[0]).json() == many[0]
        assert client.post("/v1/predict", json={"text": rows[0], "x": 1}).json() == many[0]
        lines = "\n".join(json.dumps({"text": row}) for row in rows)
        kind = {"Content-Type": "application/x-ndjson"}
        answer = client.post("/v1/predict", content=lines, headers=kind).text
        assert [json.loads(line) for line in answer.splitlines()] == many
        sink = pa.BufferOutputStream()
        table = pa.table({"text": rows})
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        kind = {"Content-Type": "application/vnd.apache.arrow.stream"}
        body = sink.getvalue().to_pybytes()
        assert client.post("/v1/predict", content=body, headers=kind).json() == many
        top = client.post("/v1/predict?top=2&explain=true", json=rows[0]).json()
        first, second = (entry["label"] for entry in top["top"])
        assert first == expected[0] != second
        assert top["explanation"][0]["contribution"] != 0
        assert client.post("/v1/label", json={"id": "a", "label": "b"}).status_code == 409


def test_concurrent_requests_get_their_own_answers(model):
    texts = [e.content["text"] for e in stream(60)]
    expected = model.predict(texts).tolist()

    with running(Engine(model)) as client, ThreadPoolExecutor(len(texts)) as threads:
        answers = threads.map(lambda text: client.post("/v1/predict", json=text).json(), texts)
        assert [answer["label"] for answer in answers] == expected


def test_a_bad_row_does_not_harm_the_rows_beside_it(model):
    with running(Engine(model)) as client:
        bad = client.post("/v1/predict", json=[{"text": "good"}, {"text": ["x"]}])
        assert bad.status_code == 400
        assert "a cell is a text or a number" in bad.json()["error"]
        assert client.post("/v1/predict", json="good").status_code == 200


# Labels


def test_what_is_served_is_the_model_of_a_replay(learning, tmp_path):
    teach(learning, stream(120, ("a", "b", "c")))
    caught_up(learning, 120)
    answer = learning.get("/v1/model")
    (tmp_path / "served.model").write_bytes(answer.content)
    replayed = replay(str(learning.engine.log.path)).online
    replayed.exported().save(tmp_path / "replayed.model")
    assert (tmp_path / "replayed.model").read_bytes() == answer.content
    assert load(tmp_path / "served.model").classes == ("a", "b", "c")
    same = learning.get("/v1/model", headers={"If-None-Match": answer.headers["ETag"]})
    assert same.status_code == 304


def test_a_lifted_table_learns_on_and_predicts_as_in_python(begun, tmp_path):
    rng = np.random.default_rng(0)
    age, town = rng.normal(40, 9, 300), rng.choice(["a", "b"], 300)
    label = np.where((abs(age - 40) < 6) ^ (town == "a"), "in", "out")
    start = train({"age": age, "town": town, "label": label}, label="label", lift="pairs")
    assert start.features.lift is not None
    log = begun(start=Start.of(TrainOptions(), start.features, start))
    rows = [{"age": float(a), "town": str(t)} for a, t in zip(age[:60], town[:60], strict=True)]
    with running(Engine(log=log, learns=True)) as client:
        answers = client.post("/v1/predict", json=rows).json()
        expected = start.predict({"age": age[:60], "town": town[:60]})
        assert [answer["label"] for answer in answers] == expected.tolist()
        labels = [{"id": a["id"], "label": str(y)} for a, y in zip(answers, label, strict=False)]
        taken = client.post("/v1/label", json=[*labels, {"label": "else", "row": rows[0]}])
        assert len(taken.json()) == 61
        caught_up(client, 61)
        served = client.get("/v1/model").content
    replay(str(log.path)).online.exported().save(tmp_path / "replayed.model")
    assert (tmp_path / "replayed.model").read_bytes() == served
    assert load(tmp_path / "replayed.model").classes == ("else", "in", "out")


def test_all_that_a_service_needs_is_compiled_before_it_answers(begun, monkeypatch):
    used, lookup = set(), Kernel._lookup

    def noted(kernel, arguments):
        used.add((kernel.py_func.__qualname__, types_of(arguments, [])))
        return lookup(kernel, arguments)

    monkeypatch.setattr(Kernel, "_lookup", noted)
    with running(Engine(log=begun(), learns=True)) as client:
        before = set(used)
        teach(client, stream(12, ("a", "b", "c")))
        caught_up(client, 12)
    assert used == before


def test_mistakes_are_counted_against_what_was_predicted_then(learning):
    rows = stream(40)
    ids = [learning.post("/v1/predict", json=e.content).json()["id"] for e in rows]
    for event, id in zip(rows[::-1], ids[::-1], strict=True):  # later, in another order
        learning.post("/v1/label", json={"id": id, "label": event.label})
    caught_up(learning, 40)
    history = learning.get("/v1/history").json()
    assert (history["labels"], history["unpredicted"]) == (0, 40)  # no class was known then
    teach(learning, stream(60, first=100))
    caught_up(learning, 100)
    history = learning.get("/v1/history?mistakes=100").json()
    assert history["labels"] == 60
    assert history["mistakes"] == len(history["mistaken"]) < 20
    assert sum(labels for labels, _ in history["by_class"].values()) == 60


def test_labels_are_idempotent_corrected_and_may_come_with_their_row(learning):
    def label(**fields):
        return learning.post("/v1/label", json=fields)

    id = learning.post("/v1/predict", json="good fun").json()["id"]
    assert label(id=id, label="pos").json()["status"] == "accepted"
    assert label(id=id, label="pos").json()["status"] == "repeated"
    corrected = label(id=id, label="neg").json()
    assert (corrected["status"], corrected["replaced"]) == ("corrected", "pos")
    unknown = label(id="my-17", label="neg")
    assert unknown.status_code == 404
    assert "send the row" in unknown.json()["error"]
    assert label(id="my-17", label="neg", row="dull").json()["status"] == "accepted"
    assert label(id="my-17", label="neg", row="dull").json()["status"] == "repeated"
    assert label(label="pos", row={"text": "fun"}, weight=2).json()["status"] == "accepted"
    twice = [{"id": "b", "label": "x", "row": "a"}, {"id": "b", "label": "y", "row": "a"}]
    statuses = learning.post("/v1/label", json=twice).json()
    assert [answer["status"] for answer in statuses] == ["accepted", "corrected"]
    assert caught_up(learning, 6) == 6


def test_a_request_of_labels_is_taken_whole_or_not_at_all(learning):
    labels = [{"id": "a", "label": "x", "row": "good"}, {"id": "nobody", "label": "y"}]
    assert learning.post("/v1/label", json=labels).status_code == 404
    assert learning.post("/v1/label", json={"id": "a", "label": "x"}).status_code == 404


def test_labels_are_acknowledged_before_they_are_learned_and_classes_are_bounded(
    learning, monkeypatch
):
    monkeypatch.setattr(engine_module, "MOST_CLASSES", 40)
    rows = [{"id": f"id{i}", "label": f"class {i}", "row": f"word {i}"} for i in range(40)]
    assert len(learning.post("/v1/label", json=rows).json()) == 40
    caught_up(learning, 40)
    more = learning.post("/v1/label", json={"label": "class 40", "row": "one more"})
    assert more.status_code == 400
    assert "at most 40 classes" in more.json()["error"]
    taken = learning.post("/v1/label", json={"id": "id1", "label": "class 2"}).json()
    assert taken["status"] == "corrected"

    def fails(*_):
        raise MemoryError

    monkeypatch.setattr(learning.engine.online, "learn", fails)
    taken = learning.post("/v1/label", json={"label": "class 3", "row": "word"}).json()
    assert taken["status"] == "accepted"


def test_a_stopped_service_goes_on_where_it_was(begun):
    log = begun()
    with running(Engine(log=log, learns=True)) as client:
        teach(client, stream(50))
        id = client.post("/v1/predict", json="late").json()["id"]
    assert (log.path.parent / "events.db.snapshot").exists()
    (log.path.parent / "events.db.snapshot").unlink()
    with running(Engine(log=open_log(str(log.path)), learns=True)) as client:
        assert client.get("/health").json()["version"] == 50
    assert (log.path.parent / "events.db.snapshot").exists()
    with running(Engine(log=open_log(str(log.path)), learns=True)) as client:
        assert client.get("/health").json()["version"] == 50
        assert client.post("/v1/label", json={"id": id, "label": "pos"}).status_code == 200


def test_columns_are_forgotten_after_their_time_and_the_model_stays(begun):
    log = begun()
    # Rows are forgotten at the start and at the end: none is so old while it waits for its label.
    with running(Engine(log=log, learns=True, forget_after=1.0)) as client:
        teach(client, stream(20))
        expected = caught_up(client, 20)
        client.post("/v1/predict", json="never labelled")
        time.sleep(1.1)
    log = open_log(str(log.path))
    assert all(isinstance(event.content, bytes) for event in log.events(0, 100))
    assert log.run("SELECT count(*) FROM predictions") == [(20,)]
    with running(Engine(log=log)) as client:
        assert client.get("/health").json()["version"] == expected
        history = client.get("/v1/history").json()
        assert all(mistake["row"] is None for mistake in history["mistaken"])


# Limits and refusals


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/v1/predict", {"Host": "evil.org"}, 421),
        ("/v1/predict", {"Host": "127.0.0.1.evil.org"}, 421),
        ("/v1/predict", {"Origin": "https://evil.org"}, 403),
        ("/v1/predict", {"Origin": "null"}, 403),
        ("/v1/predict", {"Content-Type": "text/plain"}, 415),
        ("/v1/predict?top=0", {}, 400),
        ("/v1/predict?top=x", {}, 400),
        ("/v1/predict?explain=1", {}, 400),
        ("/v1/nothing", {}, 404),
    ],
)
def test_what_is_not_for_the_service_is_refused(model, path, headers, status):
    with running(Engine(model)) as client:
        headers = {"Content-Type": "application/json"} | headers
        answer = client.post(path, content=b'"good"', headers=headers)
        assert answer.status_code == status
        assert answer.json()["error"]
        own = {"Origin": str(client.base_url).rstrip("/")}
        assert client.post("/v1/predict", json="good", headers=own).status_code == 200


def test_bodies_rows_and_the_queue_are_limited(model):
    limits = Limits(body=1000, rows=3, waiting=2)
    with running(Engine(model), limits=limits) as client:
        assert client.post("/v1/predict", json="x" * 1000).status_code == 413
        chunks = (b'"' + b"x" * 400 for _ in range(10))
        kind = {"Content-Type": "application/json"}
        assert client.post("/v1/predict", content=chunks, headers=kind).status_code == 413
        assert client.post("/v1/predict", json=["a"] * 4).status_code == 400
        busy = client.post("/v1/predict", json=["a"] * 3)
        assert (busy.status_code, busy.headers["Retry-After"]) == (429, "1")
        assert client.post("/v1/predict", json=["a"] * 2).status_code == 200


def test_a_request_that_does_not_end_is_given_up(model):
    request = (
        b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n"
        b'Content-Type: application/json\r\n\r\n"a'
    )
    with running(Engine(model), limits=Limits(seconds=0.3)) as client:
        address = "127.0.0.1", client.base_url.port
        with socket.create_connection(address, timeout=10) as slow:
            slow.sendall(request)
            assert b" 504 " in slow.recv(1000)


def test_tokens_decide_who_may_predict_and_label(begun):
    with running(Engine(log=begun(), learns=True), tokens=TOKENS) as client:
        label = {"id": "a", "label": "pos", "row": "good"}
        rights = {TOKENS.predict: (200, 401), TOKENS.label: (200, 200), "wrong": (401, 401)}
        for token, (may_look, may_label) in rights.items():
            headers = bearer(token)
            answer = client.post("/v1/predict", json="good", headers=headers)
            assert answer.status_code == may_look
            answer = client.post("/v1/label", json=label, headers=headers)
            assert answer.status_code == may_label
            for path in ("/v1/history", "/metrics"):
                assert client.get(path, headers=headers).status_code == may_look
        assert client.get("/health").status_code == 200
        assert client.get("/v1/history").headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize(
    "content", ["", "predict short", "predict " + "a" * 20, "a b", "predict {0}\nlabel {0}"]
)
def test_a_token_file_that_is_no_use_is_refused(tmp_path, content):
    (tmp_path / "tokens").write_text(content.format("t" * 20))
    with pytest.raises(OptionError, match="tokens"):
        Tokens.read(tmp_path / "tokens")


def test_a_token_file_may_have_comments(tmp_path):
    lines = f"# of today\npredict {TOKENS.predict}\n\nlabel {TOKENS.label}\n"
    (tmp_path / "tokens").write_text(lines)
    assert Tokens.read(tmp_path / "tokens") == TOKENS


def test_other_machines_are_served_with_tokens_only(model):
    with pytest.raises(OptionError, match="--token-file"):
        serve(Engine(model), host="0.0.0.0")


# When something fails


def test_a_log_that_is_locked_or_full_refuses_and_loses_nothing(learning):
    teach(learning, stream(5))
    other = sqlite3.connect(learning.engine.log.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    locked = learning.post("/v1/predict", json="good")
    assert locked.status_code == 503
    assert "locked" in locked.json()["error"]
    other.execute("ROLLBACK")
    other.close()
    pages = learning.engine.log.run("PRAGMA page_count")[0][0]
    learning.engine.log.run(f"PRAGMA max_page_count = {pages}")
    statuses = set()
    for i in range(60):
        label = {"id": f"x{i}", "label": "pos", "row": "long " * 200}
        answer = learning.post("/v1/label", json=label)
        statuses.add(answer.status_code)
        if answer.status_code == 503:
            assert "full" in answer.json()["error"]
    assert 503 in statuses
    learning.engine.log.run("PRAGMA max_page_count = 1000000000")
    teach(learning, stream(5, first=50))
    position = learning.engine.log.last_position()
    assert caught_up(learning, position) == position
    assert learning.get("/health").json()["status"] == "ok"


def test_a_failure_to_learn_is_said_and_predictions_go_on(learning, monkeypatch, capfd):
    teach(learning, stream(5))
    caught_up(learning, 5)
    monkeypatch.setattr(learning.engine.online, "_walk", None)
    learning.post("/v1/label", json={"id": "a", "label": "pos", "row": "good secret"})
    for _ in range(100):
        health = learning.get("/health")
        if health.status_code == 503:
            break
    assert "TypeError" in health.json()["reason"]
    assert learning.post("/v1/predict", json="good").status_code == 200
    assert "secret" not in capfd.readouterr().err


def test_an_error_in_a_batch_fails_only_what_it_is_about(model, monkeypatch):
    engine, rows = Engine(model), []

    def hashed(values):
        rows.append(len(values))
        if any(row["text"] == "poison" for row in values):
            raise MemoryError
        return model.features.rows(engine.reader.table(values))

    monkeypatch.setattr(engine.reader, "hashed", hashed)
    works = [Predict([{"text": text}]) for text in ("good", "poison", "dull")]
    good, poison, dull = engine._answered(works)
    assert good[0]["label"] in model.classes
    assert dull[0]["label"] in model.classes
    assert isinstance(poison, MemoryError)
    assert rows == [3, 1, 1, 1]


# Several servers


def test_servers_of_one_log_have_the_same_model_and_one_learner(database, monkeypatch):
    monkeypatch.setattr(engine_module, "_ASK_SECONDS", 0.1)
    log = open_log(database)
    log.begin(text_start())
    log.close()

    def server(learns):
        return running(Engine(log=open_log(database), learns=learns))

    with server(False) as one, server(False) as two, server(True) as standby:
        caught_up(standby, 0)
        with server(True) as learner:
            assert standby.get("/health").json()["learner"]
            assert not learner.get("/health").json()["learner"]
            events = stream(90, ("a", "b", "c"))
            parts = [(one, events[::3]), (two, events[1::3]), (learner, events[2::3])]
            threads = [threading.Thread(target=teach, args=part) for part in parts]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        for client in (one, two, standby):
            caught_up(client, 90)
        files = {client.get("/v1/model").content for client in (one, two, standby)}
        assert len(files) == 1
    assert replay(database).labels == 90


def test_a_lost_connection_to_the_database_is_made_again(database):
    log = open_log(database)
    log.begin(text_start())
    with running(Engine(log=log, learns=True)) as client:
        teach(client, stream(10))
        other = open_log(database)
        other.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                  "WHERE datname = current_database() AND pid <> pg_backend_pid()")  # fmt: skip
        other.close()
        statuses = [client.post("/v1/predict", json="good").status_code for _ in range(2)]
        assert statuses[-1] == 200
        teach(client, stream(10, first=50))
        assert caught_up(client, 20) == 20


# The description


def test_the_description_names_all_paths_and_what_they_answer(model, begun):
    with running(Engine(model)) as client:
        document = client.get("/openapi.json").json()
        paths = {"/v1/predict", "/v1/label", "/v1/model", "/v1/history", "/health", "/metrics"}
        assert set(document["paths"]) == paths
        row = document["components"]["schemas"]["Row"]["anyOf"][1]
        assert list(row["properties"]) == ["text"]
    document = description(text_start().features, 100, tokens=True)
    assert document["security"] == [{"token": []}]


def test_metrics_count_requests_and_labels(learning):
    teach(learning, stream(3))
    learning.get("/etc/passwd")
    lines = learning.get("/metrics").text.splitlines()
    assert 'rosenblatt_requests_total{path="/v1/label",status="200"} 3' in lines
    assert 'rosenblatt_requests_total{path="other",status="404"} 1' in lines
    assert "rosenblatt_labels_accepted_total 3" in lines


@settings(max_examples=40)
@given(
    st.sampled_from(["/v1/predict", "/v1/label"]),
    st.one_of(
        st.binary(max_size=50),
        st.recursive(
            st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(st.sampled_from(["id", "label", "row", "weight", "text"]), inner)
            ),
        ).map(lambda value: json.dumps(value).encode()),
    ),
)
def test_no_body_makes_the_service_fail(shared, path, body):
    answer = shared.post(path, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (200, 400, 404)
    answer.json()


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    log = open_log(str(tmp_path_factory.mktemp("shared") / "events.db"))
    log.begin(text_start())
    with running(Engine(log=log, learns=True)) as client:
        yield client
