"""Curves of an evaluation are those of scikit-learn, for each class against the rest."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import precision_recall_curve, roc_auc_score, roc_curve

from rosenblatt import data, train
from rosenblatt.estimators.evaluation import Evaluation, evaluate
from rosenblatt.viz.evaluation import area, curves, draw_evaluation


def judged(k, rows=200):
    rng = np.random.default_rng(k)
    truth = rng.integers(k, size=rows).astype(np.int32)
    # Rounded, so that there are ties.
    scores = np.round(rng.normal(size=(rows, k)) + 2 * np.eye(k)[truth], 1)
    classes = tuple(f"c{i}" for i in range(k))
    return Evaluation(classes, np.eye(k), scores[:, 1] if k == 2 else scores, truth)


@pytest.mark.parametrize(("k", "positive"), [(2, 1), (3, 0), (3, 2)])
def test_curves_are_those_of_scikit_learn(k, positive):
    result = judged(k)
    scores = result.scores if k == 2 else result.scores[:, positive]
    found, truth = curves(result, positive), result.truth == positive
    false, true, _ = roc_curve(truth, scores, drop_intermediate=False)
    assert found["false_positive_rate"] == pytest.approx(false)
    assert found["true_positive_rate"] == pytest.approx(true)
    precision, recall, _ = precision_recall_curve(truth, scores)
    assert found["precision"] == pytest.approx(precision[::-1])
    assert found["true_positive_rate"] == pytest.approx(recall[::-1])
    assert area(found) == pytest.approx(roc_auc_score(truth, scores))


@pytest.mark.parametrize("k", [2, 3, 25])
def test_a_picture_is_drawn_for_any_number_of_classes(tmp_path, k):
    pytest.importorskip("matplotlib")
    result = judged(k)
    result.truth[result.truth == k - 1] = 0
    if k > 2:  # a class without a row
        draw_evaluation(result, tmp_path / "a.png")
    draw_evaluation(judged(k), tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 10_000


def test_scores_of_all_classes_are_kept_only_on_request(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("label,text\n" + "a,one\nb,two\nc,three\n" * 10)
    model = train(path, text="text", epochs=2)

    def source():
        return data.open(path, features=model.features, classes=model.classes)

    assert evaluate(model, source()).scores.size == 0
    kept = evaluate(model, source(), keep_scores=True)
    assert kept.scores.shape == (30, 3)
    assert [area(curves(kept, c)) for c in range(3)] == [1.0, 1.0, 1.0]
