"""A session steps forward and back, keeps the weights it is told to, and knows what is proven."""

from itertools import pairwise

import numpy as np
import pytest
from typer.testing import CliRunner

from rosenblatt import Perceptron, reference, verify
from rosenblatt.cli import app
from rosenblatt.data import read_arrays
from rosenblatt.lab.export import export
from rosenblatt.lab.lifts import FeatureMap
from rosenblatt.lab.plane import frame_for
from rosenblatt.lab.proofs import margin_interval
from rosenblatt.lab.session import Session
from rosenblatt.lab.state import CLOUDS, Data, LabSettings
from rosenblatt.lab.view import view
from rosenblatt.theory import load_certificate


@pytest.fixture
def session():
    return Session(Data.example("or"))


def cloud(n, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, 2)).round(2)
    signs = np.where(X[:, 0] + 0.3 * X[:, 1] > 0, 1, -1)
    return Data(X=tuple(map(tuple, X.tolist())), signs=tuple(signs.tolist()))


def test_forth_and_back_again_is_where_it_was(session):
    session.step(5)
    there = session.weights
    session.step(3)
    for _ in range(3):
        session.back()
    assert session.weights == there
    session.restart()
    assert session.weights == ((0, 0), 0)
    session.back()
    assert session.position == 0


def test_the_end_is_the_end(session):
    session.finish()
    end = session.position
    session.step()
    assert (session.position, session.ended) == (end, True)
    assert session.run.stop_reason == "separated"


def test_average_and_best_are_what_brute_force_says():
    session = Session(cloud(40), LabSettings(keep="average", order="shuffled", seed=4))
    session.step(90)
    mean_w, mean_b = reference.average(session.run.steps[:90])
    assert np.allclose(session.weights[0], mean_w)
    assert session.weights[1] == pytest.approx(mean_b)
    session.configure(keep="best")
    assert session.position == 90
    errors = [int(session.wrong(*session.run.at(i)).sum()) for i in range(91)]
    assert session.weights == session.run.at(int(np.argmin(errors)))


def test_editing_repeats_the_run_to_where_it_was(session):
    session.step(5)
    session.add((0.5, 2.0), 1)
    assert (session.position, len(session.data.X)) == (5, 5)
    anew = Session(session.data)
    anew.step(5)
    assert session.weights == anew.weights
    session.finish()
    session.move(4, (0.5, 5.0))
    assert session.run.stop_reason == "separated"
    assert session.ended
    session.restart()
    session.configure(eta=2.0)
    assert session.position == 0
    session.flip(4)
    assert (session.data.X[4], session.data.signs[4]) == ((0.5, 5.0), -1)
    session.delete(4)
    assert len(session.data.X) == 4


def test_a_drag_through_points_that_end_early_comes_back_to_its_step(session):
    session.step(9)
    session.move(0, (5.0, 5.0), live=True)
    session.move(0, (0.0, 0.0), live=True)
    session.move(0, (0.0, 0.0))
    assert session.position == 9


def test_live_runs_to_the_end_after_every_change(session):
    session.set_live(True)
    assert session.ended
    session.flip(3)
    assert session.ended
    session.load_example("iris")
    assert session.run.stop_reason == "separated"


def test_the_next_mistake_and_the_end_of_the_epoch(session):
    session.next_mistake()
    assert (session.position, session.current.mistake) == (1, True)
    session.end_of_epoch()
    assert (session.position, session.current.epoch) == (4, 1)
    session.end_of_epoch()
    assert session.position == 8
    while not session.ended:
        session.next_mistake()
    assert not session.current.mistake
    mistakes = [step.epoch for step in session.run.steps if step.mistake]
    counts = [mistakes.count(epoch) for epoch in range(1, session.current.epoch + 1)]
    assert session.mistakes_by_epoch == counts
    assert counts[-1] == 0


def test_two_runs_take_the_same_steps_on_the_same_points(session):
    session.compare(True)
    session.configure_beside(order="shuffled", seed=3)
    session.step(6)
    alone = Session(session.data, LabSettings(order="shuffled", seed=3))
    alone.step(6)
    assert session.beside.weights == alone.weights
    assert session.settings.order == "in order"
    session.move(0, (0.25, 0.0))
    assert session.beside.data == session.data
    assert (session.position, session.beside.position) == (6, 6)
    session.finish()
    assert session.ended
    assert session.beside.has_ended
    shown = view(session, frame_for(session))["beside"]
    assert shown["titles"] == ["order in order, seed 0", "order shuffled, seed 3"]
    again = Session()
    again.restore(session.link())
    assert again.beside.settings == session.beside.settings
    session.undo()
    session.undo()
    assert session.beside.settings == session.settings
    session.compare(False)
    assert view(session, frame_for(session))["beside"] is None


def test_undo_brings_back_points_of_ones_own_but_never_another_example():
    session = Session()
    session.load_example("xor")
    with pytest.raises(ValueError, match="nothing to undo"):
        session.undo()
    session.add((0.5, 0.5), 1)
    session.load_example("iris")
    session.undo()
    assert len(session.data.X) == 5
    fresh = Session()
    fresh.restore(session.link())
    with pytest.raises(ValueError, match="nothing to undo"):
        fresh.undo()


@pytest.mark.parametrize("name", CLOUDS)
def test_clouds_are_drawn_anew_for_each_seed_and_noise(name):
    cloud = Data.cloud(name, 0.2, 1)
    assert cloud == Data.cloud(name, 0.2, 1)
    assert cloud.X != Data.cloud(name, 0.2, 2).X
    assert cloud.X != Data.cloud(name, 0.8, 1).X
    assert {-1, 1} == set(cloud.signs)
    for refused in (("nosuch", 0.2, 1), (name, 2, 1), (name, float("nan"), 1), (name, 0.1, -1)):
        with pytest.raises(ValueError, match=r"cloud|noise|seed"):
            Data.cloud(*refused)


def test_the_arrows_of_an_update_add_up_and_the_line_before_is_the_line_before():
    session = Session(Data.example("iris"))
    session.next_mistake()
    session.next_mistake()
    frame = frame_for(session)
    shown = view(session, frame)
    start, old, new = (np.array(shown["update"]["arrows"][k]) for k in ("start", "old", "new"))
    before, after = (
        np.array(session.run.at(p)[0]) for p in (session.position - 1, session.position)
    )
    scale = np.linalg.norm(new - start) / np.linalg.norm(after)
    assert np.allclose(old - start, scale * before)
    assert np.allclose(new - old, scale * (after - before))
    for x, y in (*start.reshape(1, 2), old, new):
        assert frame[0] <= x <= frame[1]
        assert frame[2] <= y <= frame[3]
    w, b = session.run.at(session.position - 1)
    for end in (p for line in shown["update"]["before"] for p in line):
        assert np.dot(w, end) + b == pytest.approx(0, abs=1e-9)


def test_a_line_out_of_sight_is_pointed_at_and_fit_brings_it_into_the_frame():
    session = Session(Data.example("iris"))
    session.step(3)
    frame = frame_for(session)
    shown = view(session, frame)
    assert shown["boundary"]["lines"] == []
    w, b = session.weights
    assert np.dot(w, shown["boundary"]["beyond"]) + b == pytest.approx(0, abs=1e-9)
    wider = view(session, frame_for(session, with_line=True))
    assert len(wider["boundary"]["lines"]) == 1
    assert view(Session(), (-1.0, 1.0, -1.0, 1.0))["boundary"]["neutral"]


@pytest.mark.parametrize("seed", range(8))
def test_the_cone_of_solutions_is_that_of_the_display(seed):
    plt = pytest.importorskip("matplotlib.pyplot")
    from rosenblatt.viz import WeightSpaceDisplay

    generator = np.random.default_rng(seed)
    X = generator.normal(size=(6, 2)).round(2)
    signs = np.where(X @ [1.0, 0.2] > 0, 1, -1)
    threshold = float(seed % 3)
    data = Data(X=tuple(map(tuple, X.tolist())), signs=tuple(signs.tolist()))
    session = Session(data, LabSettings(bias=False, threshold=threshold))
    session.finish()
    space = view(session, frame_for(session))["weight_space"]
    display = WeightSpaceDisplay.from_trace(session.trace())
    rows = display.rows
    from matplotlib.path import Path

    cone = Path([*space["cone"], space["cone"][0]])
    points = generator.uniform(-space["half"], space["half"], size=(400, 2))
    worst = (points @ rows.T).min(axis=1) - threshold
    clear = np.abs(worst) > 1e-6 * space["half"]
    assert (cone.contains_points(points) == (worst > 0))[clear].all()
    xlim, ylim = display.ax_.get_xlim(), display.ax_.get_ylim()
    inside = (points > [xlim[0], ylim[0]]).all(axis=1) & (points < [xlim[1], ylim[1]]).all(axis=1)
    drawn = np.any([path.contains_points(points) for path in display.cone_.get_paths()], axis=0)
    near = np.abs(worst) > 0.02 * space["half"] * np.abs(rows).max()
    assert (drawn == cone.contains_points(points))[inside & near].all()
    plt.close("all")


def test_what_is_refused_leaves_the_session_as_it_was(session):
    session.step(2)
    for refused in (
        lambda: session.configure(eta=-1),
        lambda: session.move(99, (0, 0)),
        lambda: session.add((float("inf"), 0), 1),
        lambda: session.add((0, 0), 3),
        lambda: session.load_csv("nonsense"),
        lambda: session.load_example("nand"),
        lambda: session.restore("nonsense"),
    ):
        with pytest.raises(ValueError, match=r"\w"):
            refused()
        assert (session.position, session.data) == (2, Data.example("or"))


def test_xor_contradicts_itself_and_its_products_do_not():
    session = Session(Data.example("xor"))
    session.finish()
    shown = view(session, frame_for(session))
    assert shown["certificate"]["verdict"] == "inseparable"
    assert shown["certificate"]["rows"] == [[i, "1/4"] for i in range(4)]
    assert "1/4·only q + 1/4·only p = 1/4·neither + 1/4·both" in shown["certificate"]["text"]
    assert shown["stop_reason"] == "cycle"
    session.configure(lift="products")
    session.finish()
    shown = view(session, frame_for(session))
    assert shown["stop_reason"] == "separated"
    assert shown["proof"]["bound"] == 100
    assert shown["updates"] <= 100


@pytest.mark.parametrize("lift", ["polynomial", "rbf"])
def test_other_lifts_separate_a_ring_from_its_middle(lift):
    angles = np.linspace(0, 2 * np.pi, 16, endpoint=False)
    ring = np.column_stack([np.cos(angles), np.sin(angles)]) * 2
    X = [*ring.round(3).tolist(), [0.0, 0.1], [0.2, -0.1]]
    session = Session(Data(X=tuple(map(tuple, X)), signs=(1,) * 16 + (-1,) * 2))
    assert session.certificate.verdict == "inseparable"
    session.configure(lift=lift, max_epochs=1000)
    assert session.certificate.verdict == "separable"
    session.finish()
    assert session.run.stop_reason == "separated"


def test_the_words_of_the_notes_come_with_their_rule():
    session = Session()
    session.load_example("movies")
    assert (session.settings.mistake, session.settings.bias) == ("sign", False)
    session.step(3)
    shown = view(session, None)
    assert [w["text"] for w in shown["weights"]] == ["0", "0", "-1", "-1"]
    assert shown["rows"][2]["name"] == "not good"
    assert "s = w·x = 0·0 + 1·1 - 1·0 + 0·1 = 1" in shown["step"]["lines"]


def test_the_margin_interval_holds_the_largest_margin():
    session = Session(Data.example("iris"))
    session.finish()
    low, high = margin_interval(session)
    assert 0 < low <= 0.2684931 <= high


def test_two_weights_get_their_space():
    session = Session(Data.example("or"), LabSettings(bias=False))
    session.step(4)
    shown = view(session, frame_for(session))
    assert shown["weight_space"]["path"][0] == [0.0, 0.0]
    assert len(shown["weight_space"]["path"]) == 1 + shown["updates"]
    assert view(Session(), None)["weight_space"] is None


@pytest.mark.parametrize("signs", [(), (1,), (1, 1), (-1, -1, -1)])
def test_no_points_or_one_class_can_be_shown_and_run(signs):
    X = tuple((float(i), 1.0) for i in range(len(signs)))
    session = Session(Data(X=X, signs=signs))
    session.finish()
    shown = view(session, frame_for(session))
    assert shown["certificate"]["verdict"] == "open"
    assert shown["ended"]


def test_equal_points_with_different_labels_contradict_each_other():
    session = Session(Data(X=((1.0, 1.0), (1.0, 1.0)), signs=(1, -1)))
    assert session.certificate.verdict == "inseparable"
    assert view(session, frame_for(session))["certificate"]["rows"] == [[0, "1/2"], [1, "1/2"]]


@pytest.mark.parametrize("keep", ["last", "average"])
@pytest.mark.parametrize("settings", [{}, {"update": "batch", "eta": 0.5}, {"padding": 2.0}])
def test_the_compiled_estimator_comes_to_the_same_weights(settings, keep):
    session = Session(cloud(25), LabSettings(keep=keep, **settings))
    session.finish()
    assert session.run.stop_reason == "separated"
    options = {"update": session.settings.update, "eta0": session.settings.eta, "keep": keep}
    options |= {"threshold": 0, "scale": None, "shuffle": False, "max_iter": 100, "tol": None}
    model = Perceptron(**options, intercept_scaling=session.settings.padding)
    model.fit(session.data.X, session.data.signs)
    w, b = session.weights
    assert np.allclose(model.coef_[0], w)
    assert model.intercept_[0] == pytest.approx(b)


def test_everything_can_be_exported(session):
    for kind, start in [("csv", b"row,p,q,label"), ("certificate", b"{"), ("gif", b"GIF8")]:
        name, _, content = export(session, kind)
        assert content.startswith(start)
        assert name == f"perceptron.{kind}"


@pytest.mark.parametrize("name", ["or", "xor", "movies", "not-good", "triangle", "cloud"])
def test_an_exported_certificate_proves_its_verdict_of_the_exported_table(name, tmp_path):
    session = Session(cloud(30) if name == "cloud" else Data.example(name))
    session.configure(bias=name != "movies")
    for kind in ("csv", "certificate"):
        (tmp_path / f"lab.{kind}").write_bytes(export(session, kind)[2])
    certificate = load_certificate(tmp_path / "lab.certificate")
    table = read_arrays(tmp_path / "lab.csv", "label", row_names=True)
    assert verify(certificate, table.X, table.y)
    if name != "triangle":
        assert certificate.verdict == session.certificate.verdict
    if session.data.row_names is None:
        command = ["verify", str(tmp_path / "lab.certificate"), str(tmp_path / "lab.csv")]
        assert CliRunner().invoke(app, command).exit_code == 0


def test_an_exported_table_comes_back_as_the_same_data(session):
    back = Data.csv(export(session, "csv")[2].decode())
    assert (back.X, back.signs, back.row_names) == (
        session.data.X, session.data.signs, session.data.row_names,
    )  # fmt: skip


def test_what_cannot_be_exported_is_refused():
    session = Session(Data.example("movies"))
    with pytest.raises(ValueError, match="an animation needs two features"):
        export(session, "gif")
    with pytest.raises(ValueError, match="the lab exports"):
        export(session, "exe")
    with pytest.raises(ValueError, match="there are no points yet"):
        export(Session(Data()), "gif")
    with pytest.raises(ValueError, match="points of both labels"):
        export(Session(Data()), "certificate")
    with pytest.raises(ValueError, match="set the lift to none"):
        export(Session(settings=LabSettings(lift="products")), "certificate")


def test_the_film_of_a_lifted_run_can_be_made():
    session = Session(Data.example("xor"), LabSettings(lift="products", max_epochs=2))
    assert export(session, "gif")[2].startswith(b"GIF8")


def test_lifted_features_are_named_by_what_they_are():
    rows = [[1.0, 2.0], [0.0, 1.0]]
    names = FeatureMap("polynomial", degree=3).fit(rows, ("height", "w 2")).names
    assert "height²" in names
    assert "height·w 2²" in names


@pytest.mark.parametrize("rule", ["pa1", "arow"])
def test_other_rules_can_be_stepped_through_and_linked(rule):
    session = Session(Data(("x",), ((2.0,), (-1.0,), (0.5,)), (1, -1, 1)))
    session.configure(rule=rule, C=0.5, update="batch", threshold=3.0)
    session.step(2)
    shown = view(session, None)
    assert any("max(0, 1 - y·s)" in line for line in shown["step"]["lines"])
    assert (shown["weight_space"]["ellipse"] is not None) == (rule == "arow")
    assert shown["weight_space"]["threshold"] == 1.0
    assert shown["proof"] == {"why_not": "This chart is for the perceptron only."}
    assert shown["margin"] is None
    restored = Session()
    restored.restore(session.link())
    assert restored.settings == session.settings
    with pytest.raises(ValueError, match="rule"):
        session.configure(rule="arrow")


def test_undo_takes_back_edits_settings_loads_and_clear_one_by_one(session):
    first = session.data
    session.add((0.5, 0.5), 1)
    session.configure(eta=2.0)
    session.load_example("xor")
    session.clear()
    assert session.data.X == ()
    session.undo()
    assert (session.data, session.loaded) == (Data.example("xor"), "xor")
    session.undo()
    assert (session.settings.eta, len(session.data.X)) == (2.0, 5)
    session.undo()
    session.undo()
    assert (session.data, session.settings.eta) == (first, 1.0)
    with pytest.raises(ValueError, match="nothing to undo"):
        session.undo()


def test_a_drag_is_undone_at_once(session):
    before = session.data
    for x in (0.1, 0.2, 0.3):
        session.move(0, (x, 0.0))
    session.move(1, (0.0, 2.0))
    session.undo()
    assert session.data.X[0] == (0.3, 0.0)
    session.undo()
    assert session.data == before


def test_what_is_loaded_is_named_until_it_is_changed(session):
    session.load_example("xor")
    assert session.loaded == "xor"
    session.flip(0)
    assert session.loaded == ""


def test_a_run_from_a_start_has_the_bound_of_that_start():
    session = Session(settings=LabSettings(start=(3.0, -2.0, 1.0)))
    assert session.run.start == ((3, -2), 1)
    shown = view(session, frame_for(session))
    assert (shown["proof"]["bound"], shown["proof"]["from_zero"]) == (29, False)
    assert shown["proof"]["potential"] == [[0, pytest.approx(89)]]
    session.finish()
    assert session.run.stop_reason == "separated"
    shown = view(session, frame_for(session))
    falls = [a[1] - b[1] for a, b in pairwise(shown["proof"]["potential"])]
    assert min(falls) >= shown["proof"]["fall"] - 1e-9
    assert margin_interval(session) is None


def test_a_start_of_fewer_numbers_is_filled_with_zeros_and_more_are_refused(session):
    session.configure(start=[2])
    assert session.run.start == ((2, 0), 0)
    with pytest.raises(ValueError, match="the start has 4 numbers for 2 features and a bias"):
        session.configure(start=[1, 2, 3, 4])
    assert session.run.start == ((2, 0), 0)
    for bad in (["x"], "1, 2", [float("nan")]):
        with pytest.raises(ValueError, match="start must be"):
            session.configure(start=bad)


def test_three_classes_are_learned_one_against_all_others():
    session = Session(Data.example("triangle"))
    assert session.data.signs == (1, 1, -1, -1, -1, -1)
    session.finish()
    assert session.run.stop_reason == "separated"
    session.choose_class(2)
    assert session.data.signs == (-1, -1, -1, -1, 1, 1)
    assert session.data.class_names == ("all others", "top")
    shown = view(session, frame_for(session))
    assert (shown["labels"], shown["target"]) == ((0, 0, 1, 1, 2, 2), 2)
    session.flip(0)
    assert session.data.labels[0] == 1
    session.add((9.0, 9.0), 1)
    assert session.data.labels[-1] == 2
    session.delete(0)
    assert session.data.labels == (0, 1, 1, 2, 2, 2)
    for bad in (3, -1, 1.5, "left"):
        with pytest.raises(ValueError, match="class that counts as"):
            session.choose_class(bad)
    again = Session()
    again.restore(session.link())
    assert again.data == session.data
    with pytest.raises(ValueError, match="only two classes"):
        Session().choose_class(0)


def test_a_file_of_three_classes_is_loaded_and_exported_with_its_labels(session):
    session.load_csv("a,b,label\n1,2,x\n2,3,y\n3,1,z\n")
    assert session.data.all_classes == ("x", "y", "z")
    assert export(session, "csv")[2].decode().splitlines()[1:] == [
        "1.0,2.0,x", "2.0,3.0,y", "3.0,1.0,z",
    ]  # fmt: skip
