"""Every chapter runs, code and commands, and gives the numbers of the notes."""

import re

import pytest

from rosenblatt.cli.browser import run_command
from rosenblatt.course import site
from rosenblatt.course.cells import execute
from rosenblatt.course.site import chapters

pytest.importorskip("matplotlib")

CHAPTERS = sorted(path.stem for path in chapters().glob("*.md"))


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder, pages = tmp_path_factory.mktemp("figures"), {}

    def run(name):
        if name not in pages:
            source = (chapters() / f"{name}.md").read_text("utf-8")
            pages[name] = execute(source, folder, prefix=name, link="f", command=run_command)
        return pages[name]

    return run


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_runs(done, name):
    assert done(name)


@pytest.mark.parametrize("name", CHAPTERS)
def test_links_between_chapters_lead_somewhere(name):
    text = (chapters() / f"{name}.md").read_text("utf-8")
    for target in re.findall(r"\]\(([\w-]+)\.md", text):
        assert target in CHAPTERS, target


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        # iris, setosa against versicolor: the numbers of the theory notes
        ("1-perceptron", ["γ = 0.2685, R = 5.4378", "at most 410 updates; this run made 4"]),
        ("1-perceptron", ["separated after", "(45, 64)", "votes for left"]),
        # XOR under the algorithm of note 2 never leaves zero, and one error is possible
        ("2-risk", ["pocket: E = 4, from the start: w = [0, 0], b = 0"]),
        ("2-risk", ["The best hyperplane gets exactly 1 row wrong.", "one error left after"]),
        ("2-risk", ["3 points: 8 of 8", "4 points: 14 of 16"]),
        ("3-gradient", ["exact   (-9.0, -4.5)", "numeric (-9.0, -4.5)"]),
        ("3-gradient", ["at most 29 updates, because ‖w₀ - αu‖² = 89 falls by at least R²"]),
        ("4-margin", ["θ = [0.5 0.8] θ₀ = -2.0", "4 updates 3 epochs"]),
        ("4-margin", ["with an offset: separable", "through the origin: inseparable"]),
        # example 1, its first and last weights, and example 2 with its equation
        ("5-text", ["[0, 0, 0, 0] + [1, 1, 0, 0] = [1, 1, 0, 0]", "[ 1.  1. -1. -1.] 4 updates"]),
        ("5-text", ["1·(good) + 1·(not bad) = 1·(bad) + 1·(not good)"]),
        ("5-text", ["good + not bad = bad + not good", "words and bigrams: 5 features, separable"]),
        ("5-text", ["['pos' 'neg']"]),
    ],
)
def test_a_chapter_prints_the_numbers_of_the_notes(done, name, numbers):
    for number in numbers:
        assert number in done(name)


def test_the_table_lists_every_concept_and_each_leads_to_a_heading():
    table = (chapters() / "index.md").read_text("utf-8").partition("## Every concept")[2]
    rows = [line for line in table.splitlines() if line.startswith("| ") and "](" in line]
    assert len(rows) >= 46
    for row in rows:
        name, anchor = re.search(r"\]\(([\w-]+)\.md#([\w-]+)\)", row).groups()
        text = (chapters() / f"{name}.md").read_text("utf-8")
        headings = [_anchor(h) for h in re.findall(r"^##+ (.*)$", text, re.MULTILINE)]
        assert anchor in headings, (anchor, headings)


def _anchor(heading):
    """The anchor of a heading, as GitHub, MyST and the course's pages make it."""
    plain = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return plain.replace(" ", "-")


@pytest.mark.parametrize("name", CHAPTERS[:-1])
def test_each_exercise_has_a_solution(name):
    text = (chapters() / f"{name}.md").read_text("utf-8")
    exercises = re.findall(r"^\*\*\d\.\d\*\*", text, re.MULTILINE)
    assert len(exercises) >= 4
    assert text.count("<details><summary>Solution</summary>") == len(exercises)
    assert text.count("</details>") == len(exercises)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("1-perceptron", ["i.i.d.", "A threshold above zero", "Pre-multiplication", "majority"]),
        ("2-risk", ["estimation principle", "linear discriminant function", "well-posed"]),
        ("2-risk", ["half-spaces", "neural networks", "terminal condition", "converges faster"]),
        ("3-gradient", ["learning rule", "switching signs", "piecewise constant"]),
        ("4-margin", ["hypothesis", "hyperparameter", "margin of a *data set*", "opposite"]),
        ("5-text", ["feature extraction", "unigrams", "two cases", "3-dimensional graph"]),
    ],
)
def test_the_concepts_of_the_notes_are_there_by_name(name, words):
    text = (chapters() / f"{name}.md").read_text("utf-8").lower()
    assert [word for word in words if word.lower() not in text] == []


@pytest.mark.parametrize("name", [name for name in CHAPTERS if name != "index"])
def test_a_chapter_has_two_exercises_in_the_lab(name):
    assert (chapters() / f"{name}.md").read_text("utf-8").count("```{scene}") >= 2


def test_the_pages_keep_nobody_out_and_fit_a_phone(done, tmp_path, monkeypatch, browser, barriers):
    def executed(text, folder, *, prefix, **options):
        return done(prefix)

    monkeypatch.setattr(site, "execute", executed)
    entry = site.build(tmp_path, progress=lambda line: None)
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for name in ("index", "1-perceptron", "4-margin"):
            page.goto(entry.with_name(f"{name}.html").as_uri())
            if name != "index":
                scene = page.locator(".rosenblatt-scene").first
                scene.locator("button", has_text="open the scene").click()
                scene.locator(".step").click()
                scene.locator(".counts", has_text="step 1").wait_for()
            assert barriers(page) == [], (name, scheme)
            page.set_viewport_size({"width": 390, "height": 844})
            for picture in page.locator('img[src*="-wide"]').all():
                assert picture.bounding_box()["width"] >= 640
            assert page.evaluate("document.documentElement.scrollWidth") <= 390
            page.set_viewport_size({"width": 1280, "height": 900})
    page.close()
