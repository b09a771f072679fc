"""A trace reads the same in every format, whatever its names are made of."""

import shutil
import subprocess
from html.parser import HTMLParser

import pytest

from rosenblatt import teaching_sets, trace
from rosenblatt.tracing import trace_classes
from rosenblatt.tracing.render import latex_document

NASTY = ["50% & more", "a_b", "$x$ #1", "<b>", "back\\slash", "{c}", "p|q", "it~s^", "x*y"]


def nasty_trace():
    """Nine features, so that long vectors are written by their names."""
    X = [[1, 0, 2, 0, 1, 1, 1, 1, 1], [0, 1, 0, -3, 0, 0, 0, 0, 0.5]]
    return trace(X, [1, -1], feature_names=NASTY, row_names=["<i>one</i>", "two & _three_"])


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.seen, self.text = [], set(), []

    def handle_starttag(self, tag, attributes):
        self.seen.add(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.mark.parametrize("style", ["steps", "table"])
def test_html_is_balanced_and_names_cannot_break_out_of_it(style):
    page = Tags()
    page.feed(nasty_trace().to_html(style))
    assert page.open == []
    assert not {"i", "b", "script"} & page.seen
    assert "<i>one</i>" in "".join(page.text)


def test_markdown_escapes_names_and_sets_formulas_between_dollars():
    written = nasty_trace().to_markdown()
    assert "50% & more" in written
    assert r"a\_b" in written
    assert r"\$x\$ \#1" in written
    assert r"$w \leftarrow w + x = 0 +$ \[50% & more: 1, " in written
    assert "$$" not in written


def test_every_row_of_a_markdown_table_has_the_columns_of_its_heading():
    lines = [x for x in nasty_trace().to_markdown("table").splitlines() if x.startswith("|")]
    bars = {line.replace(r"\|", "").count("|") for line in lines}
    assert bars == {4, 10}


@pytest.mark.parametrize("style", ["steps", "table"])
def test_latex_escapes_what_would_stop_it(style):
    written = nasty_trace().to_latex(style)
    assert r"50\% \& more" in written
    assert r"two \& \_three\_" in written
    assert written.count(r"\begin{") == written.count(r"\end{")
    assert "·" not in written
    assert "←" not in written


def every_trace():
    """Documents with each rule, the proof, averages and the pocket, votes, and names that hurt."""
    for name in ("movies", "not-good", "or"):
        example = teaching_sets.load(name)
        names = {"feature_names": example.feature_names, "row_names": example.row_names}
        run = trace(example.X, example.y, **names)
        yield run.to_latex("steps", proof=True, show=["average", "pocket"])
        yield run.to_latex("table", proof=True, show=["average", "pocket"])
        yield trace(example.X, example.y, **names, update="batch", threshold=1).to_latex()
        yield trace(example.X, example.y, weights=[1] * len(example.X[0])).to_latex(proof=True)
        for rule in ("pa", "pa1", "pa2", "arow"):
            yield trace(example.X, example.y, rule=rule, max_epochs=2).to_latex()
    triangle = teaching_sets.load("triangle")
    yield trace_classes(triangle.X, triangle.y).to_latex()
    iris = teaching_sets.load("iris")
    yield trace(iris.X, iris.y).to_latex("table")  # longer than a page
    yield nasty_trace().to_latex()
    yield nasty_trace().to_latex("table")


def test_latex_has_no_sign_that_pdflatex_does_not_know():
    for written in every_trace():
        assert written.isascii(), {sign for sign in written if not sign.isascii()}


def test_a_negative_number_in_a_sentence_has_a_minus_in_latex():
    names = {"row_names": ["row-1", "a"]}
    written = trace([[1.0], [2.0]], [-1, 1], **names).to_latex()
    assert "y = -1" in written.replace("$-$", "")  # in a formula it is one already
    assert "row-1" in written
    votes = trace_classes([[0, 0], [4, 0], [0, 4]], [-1, 0, 1]).to_latex()
    assert "$-$1" in votes


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex on this machine")
def test_latex_is_accepted_by_latex(tmp_path):
    (tmp_path / "a.tex").write_text(latex_document("\\clearpage\n".join(every_trace())), "utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "a.tex"]
    done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]


def test_a_style_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="style must be one of"):
        nasty_trace().to_text("short")
