"""A model that learns the labels of a log: equal logs give equal bits."""

import pytest

from rosenblatt import TrainOptions, load, train
from rosenblatt.errors import ModelFormatError, OptionError
from rosenblatt.models import tensorfile
from rosenblatt.rules import registry
from rosenblatt.serve.online import Event, Online, Start

from .conftest import bits, stream, text_start


def file_of(online, folder):
    online.exported().save(folder / "a.model")
    return (folder / "a.model").read_bytes(), bits(online)


def learned(start, events, cut, folder=None, forget=False):
    online = Online(start)
    for at in range(0, len(events), cut):
        part = events[at : at + cut]
        if forget and at % 2:
            contents = online.reader.packed([event.content for event in part])
            part = [event._replace(content=c) for event, c in zip(part, contents, strict=True)]
        online.learn(part)
        if folder is not None:
            arrays, about = online.snapshot()
            tensorfile.write(folder / "snapshot", arrays, about | {"log": "a"})
            online = Online.restored(start, folder / "snapshot", "a", at + cut)
    return online


@pytest.mark.parametrize("rule", sorted(registry._packaged()))
def test_the_bits_depend_neither_on_how_labels_are_cut_nor_on_snapshots(rule, tmp_path):
    start = text_start(rule=rule)
    events = stream(60, ("b",)) + stream(240, ("b", "c", "a", "d"), first=61)
    expected = file_of(learned(start, events, 300), tmp_path)
    for cut, folder in ((1, None), (7, tmp_path), (61, tmp_path)):
        assert file_of(learned(start, events, cut, folder), tmp_path) == expected
    assert file_of(learned(start, events, 13, forget=True), tmp_path) == expected


@pytest.mark.parametrize("rule", ["perceptron", "arow"])
def test_pairs_vote_in_a_service_too_and_its_model_trains_on(rule, tmp_path):
    start = text_start(rule=rule, multiclass="ovo", average=True)
    events = stream(60, ("b",)) + stream(240, ("b", "c", "a", "d"), first=61)
    online = learned(start, events, 300)
    expected = file_of(online, tmp_path)
    assert file_of(learned(start, events, 7, tmp_path), tmp_path) == expected
    online.exported().save(tmp_path / "b.model")
    model = load(tmp_path / "b.model")
    assert model.by_pairs
    assert model.weights.shape[1] == 6
    texts, labels = zip(*((e.content["text"], e.label) for e in events[60:]), strict=True)
    assert model.score(list(texts), list(labels)) > 0.9
    frame = {"text": list(texts), "label": list(labels)}
    more = train(frame, start=model, epochs=1)
    assert more.by_pairs
    assert more.score(list(texts), list(labels)) > 0.9


def test_weights_of_examples_count_and_zero_leaves_a_row_out(tmp_path):
    start, events = text_start(rule="perceptron", average=False), stream(40)
    doubled = [e._replace(weight=2.0 if i % 5 < 4 else 0.0) for i, e in enumerate(events)]
    left = [e for i, e in enumerate(doubled) if i % 5 < 4]
    a, b = learned(start, doubled, 40), learned(start, left, 3)
    texts = [e.content["text"] for e in events]
    assert a.model.decision_function(texts).tolist() == b.model.decision_function(texts).tolist()


def test_it_learns_on_from_a_model_as_training_does_from_a_file(tmp_path):
    frame = {
        "text": [e.content["text"] for e in stream(80)],
        "label": [e.label for e in stream(80)],
    }
    model = train(frame, text="text", epochs=1, holdout=0.0, multiclass="ovr")
    events = stream(50, ("neg", "pos", "new"), first=200)
    online = learned(Start.of(TrainOptions(average=False), model.features, model), events, 9)
    more = {"text": [e.content["text"] for e in events], "label": [e.label for e in events]}
    two = [e for e in events if e.label != "new"]
    again = learned(Start.of(TrainOptions(average=False), model.features, model), two, 5)
    last = train(
        {name: [x for x, e in zip(cells, events, strict=True) if e.label != "new"]
         for name, cells in more.items()},
        start=model, epochs=1, average=False,
    )  # fmt: skip
    scores = again.model.decision_function(more["text"])
    assert scores.tolist() == last.decision_function(more["text"]).tolist()
    assert online.classes == ["neg", "new", "pos"]
    online.exported().save(tmp_path / "b.model")
    assert load(tmp_path / "b.model").predict(["new0 new1 new2 new3"]).tolist() == ["new"]


def test_labels_that_are_numbers_are_sorted_as_numbers_when_a_word_joins_them():
    online = Online(text_start())
    rows = [("9", "nine"), ("10", "ten"), ("nine", "word"), ("10", "ten"), ("9", "nine")]
    for i, (label, text) in enumerate(rows, start=1):
        online.learn([Event(i, str(i), 0.0, label, 1.0, None, None, 0, {"text": text})])
    assert online.classes == ["10", "9", "nine"]
    assert online.model.predict(["ten", "nine", "word"]).tolist() == ["10", "9", "nine"]


def test_a_damaged_snapshot_is_refused(tmp_path):
    start, path = text_start(), tmp_path / "snapshot"
    tensorfile.write(path, *learned(start, stream(20), 20).snapshot())
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    with pytest.raises(ModelFormatError, match="damaged"):
        Online.restored(start, path, "a", 20)


def test_models_that_cannot_learn_are_refused():
    frame = {"text": ["good fun", "bad and dull"] * 20, "label": ["a", "b"] * 20}
    model = train(frame, text="text", epochs=1)
    with pytest.raises(OptionError, match="compressed"):
        Start.of(TrainOptions(), model.features, model.compressed())
    several = train({"text": frame["text"], "label": ["a,b", "b"] * 20}, text="text", epochs=1,
                    label_separator=",")  # fmt: skip
    with pytest.raises(OptionError, match="several"):
        Start.of(TrainOptions(), several.features, several)
    ordered = train({"text": frame["text"], "label": ["1", "2"] * 20}, text="text", epochs=1,
                    order=["1", "2"])  # fmt: skip
    with pytest.raises(OptionError, match="ordered classes cannot be trained further"):
        Start.of(TrainOptions(), ordered.features, ordered)
