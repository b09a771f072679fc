"""The progressive error, and the alarm when it rises."""

import json
import random
from dataclasses import asdict

from rosenblatt.serve.record import Record


def test_totals_classes_and_curve_count_the_same_labels():
    record = Record()
    for i in range(1, 2001):
        record.count(i, float(i), "ab"[i % 2], "a" if i % 10 else "b")
    assert record.labels == sum(point["labels"] for point in record.curve) == 2000
    assert record.mistakes == sum(point["mistakes"] for point in record.curve)
    assert record.mistakes == sum(mistakes for _, mistakes in record.by_class.values())
    assert len(record.curve) <= 256
    assert record.curve[-1]["position"] == 2000


def test_a_label_before_which_nothing_was_predicted_is_no_mistake():
    record = Record()
    record.count(1, 0.0, "a", None)
    assert (record.labels, record.mistakes, record.unpredicted) == (0, 0, 1)


def test_a_correction_moves_the_label_to_the_other_class():
    record = Record()
    record.count(1, 0.0, "a", "a")
    record.correct("b", "a", "a")
    assert record.by_class == {"a": [0, 0], "b": [1, 1]}
    assert (record.labels, record.mistakes, record.corrections) == (1, 1, 1)


def alarms(errors, seed):
    numbers, record = random.Random(seed), Record()
    for i, error in enumerate(errors, start=1):
        record.count(i, 0.0, "a", "b" if numbers.random() < error else "a")
    return [alarm["position"] for alarm in record.alarms]


def test_a_steady_error_gives_no_alarm_and_a_rise_gives_one_soon():
    for seed in range(5):
        assert alarms([0.1] * 20_000, seed) == []
        [first, *_] = alarms([0.1] * 5000 + [0.3] * 2000, seed)
        assert 5000 < first < 5700


def test_a_record_survives_json():
    record = Record()
    for i in range(700):
        record.count(i, i / 2, "ab"[i % 2], "a")
    assert Record(**json.loads(json.dumps(asdict(record)))) == record
