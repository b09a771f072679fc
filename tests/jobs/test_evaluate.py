"""Curves of an evaluation are those of scikit-learn, for each class against the rest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import (
    confusion_matrix,
    f1_score,
    precision_recall_curve,
    roc_auc_score,
    roc_curve,
    top_k_accuracy_score,
)

import rosenblatt.jobs.evaluate as evaluation
from rosenblatt import data, train
from rosenblatt.errors import OptionError
from rosenblatt.jobs.evaluate import Evaluation, area, evaluate, ordered_figures
from rosenblatt.viz.evaluation import class_curves, draw_evaluation


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
    found, truth = class_curves(result, positive), result.truth == positive
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


def test_labels_at_the_top_are_counted_as_scikit_learn_does(tmp_path):
    rng = np.random.default_rng(0)
    truth = rng.integers(4, size=300)
    X = rng.normal(size=(300, 4)) + np.eye(4)[truth]
    frame = {"label": [f"c{c}" for c in truth], **{f"x{j}": X[:, j] for j in range(4)}}
    model = train(frame, label="label")
    for k in (1, 2, 3):
        result = evaluate(model, data.open(frame, features=model.features), top=k)
        share = top_k_accuracy_score(truth, model.decision_function(frame), k=k)
        assert result.at_rank == {k: pytest.approx((share / k, share))}
        assert result.to_json()[f"recall_at_{k}"] == pytest.approx(share)
        best = model.predict(frame, k=k)
        assert [row[0][0] for row in best] == model.predict(frame).tolist()
        assert {len(row) for row in best} == {k}
        assert all(sorted(row, key=lambda pair: -pair[1])[1:] == row[1:] for row in best)
    likely = model.predict(frame, threshold=0.5)
    proba = model.predict_proba(frame)
    assert [len(row) for row in likely] == (proba >= 0.5).sum(axis=1).tolist()


def three(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("label,text\n" + "a,one\nb,two\nc,three\n" * 50)
    model = train(path, text="text")
    return model, lambda: data.open(path, features=model.features, classes=model.classes)


def test_many_scores_are_kept_only_on_request(tmp_path, monkeypatch):
    model, source = three(tmp_path)
    kept = evaluate(model, source(), keep_scores=True)
    assert kept.scores.shape == (150, 3)
    assert [area(class_curves(kept, c)) for c in range(3)] == [1.0, 1.0, 1.0]
    monkeypatch.setattr(evaluation, "_MOST_SCORES", 449)
    assert evaluate(model, source()).scores.size == 0
    assert evaluate(model, source()).roc_auc is None
    assert evaluate(model, source(), keep_scores=True).roc_auc == 1.0


def test_a_calibrated_model_is_judged_by_its_probabilities(tmp_path):
    pytest.importorskip("matplotlib")
    model, source = three(tmp_path)
    result = evaluate(model, source())
    plain = result.to_json()
    assert plain["calibration"]["brier_score"] == result.reliability.brier
    assert sum(entry["rows"] for entry in plain["calibration"]["bins"]) == 150
    assert (plain["macro_f1"], plain["roc_auc"]) == (1.0, 1.0)
    draw_evaluation(evaluate(model, source(), keep_scores=True), tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 10_000
    bare = evaluate(replace(model, calibration=None), source())
    assert bare.to_json()["calibration"] is None


@pytest.mark.parametrize("k", [2, 3, 5])
def test_macro_f1_and_area_are_those_of_scikit_learn(k):
    rng = np.random.default_rng(k)
    truth, scores = rng.integers(k, size=300), rng.normal(size=(300, k))
    scores[np.arange(300), truth] += 0.5
    said = scores.argmax(axis=1) if k > 2 else (scores[:, 1] > 0).astype(int)
    confusion = confusion_matrix(truth, said, labels=range(k))
    kept = scores[:, 1] if k == 2 else scores
    result = Evaluation(tuple("abcde"[:k]), confusion, kept, truth)
    assert result.macro_f1 == pytest.approx(f1_score(truth, said, average="macro"))
    wanted = [roc_auc_score(truth == c, scores[:, c]) for c in ([1] if k == 2 else range(k))]
    assert result.roc_auc == pytest.approx(np.mean(wanted))


@pytest.mark.parametrize(("classes", "named"), [(2, None), (4, 4), (12, 5)])
def test_a_picture_names_all_of_a_few_classes_and_the_worst_of_many(
    tmp_path, monkeypatch, classes, named
):
    from matplotlib.figure import Figure

    kept = []
    monkeypatch.setattr(Figure, "savefig", lambda self, *rest, **options: kept.append(self))
    draw_evaluation(judged(classes), tmp_path / "a.png")
    roc, precision = kept[0].axes[:2]
    for panel in (roc, precision):
        legend = panel.get_legend()
        assert (None if legend is None else len(legend.get_texts())) == named
    numbers = [text.get_text() for text in kept[0].axes[2].texts]
    assert numbers == [f"{rows:,}" for rows in judged(classes).confusion.ravel()]
    assert roc.get_xlim() == roc.get_ylim() == (-0.02, 1.02)


def test_figures_of_ordered_classes_are_those_of_scikit_learn_and_scipy():
    from scipy.stats import spearmanr
    from sklearn.metrics import cohen_kappa_score, confusion_matrix, f1_score

    rng = np.random.default_rng(4)
    truth = rng.integers(0, 5, 400)
    said = np.clip(truth + rng.integers(-1, 3, 400), 0, 4)
    names = ["0", "1", "2", "3", "4"]
    figures = ordered_figures(names, confusion_matrix(truth, said))
    assert figures["spearman"] == pytest.approx(spearmanr(truth, said).statistic)
    kappa = cohen_kappa_score(truth, said, weights="quadratic")
    assert figures["quadratic_kappa"] == pytest.approx(kappa)
    assert figures["mean_absolute_error"] == pytest.approx(np.abs(truth - said).mean())
    assert figures["f1_above"]["1"] == pytest.approx(f1_score(truth > 1, said > 1))
    turned = ordered_figures(names, confusion_matrix(truth, said), names[::-1])
    assert turned["spearman"] == pytest.approx(figures["spearman"])
    with pytest.raises(OptionError, match="the order names other classes"):
        ordered_figures(names, confusion_matrix(truth, said), ["0", "1"])
