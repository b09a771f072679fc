"""`rosenblatt demo`: a tour of the package on built-in data."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

from rosenblatt.cli.lines import WIDTH, Styled, say
from rosenblatt.errors import counted


def demo() -> None:
    """Watch perceptrons learn: a worked example, a text file, an explanation, a proof.

    Needs no file and no network, and leaves no file behind.

    Examples:

      rosenblatt demo
    """
    movie_reviews()
    contradiction()
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        text_file()
        model()
        certificate()
    _title("Next")
    for command, what in (
        ("rosenblatt train YOUR_FILE --label COLUMN", "a model of a file of yours"),
        ("rosenblatt lab", "a picture that follows the hand"),
        ("rosenblatt course", "five chapters with exercises"),
    ):
        say([Styled(f"  {command:<43}", "name"), what])
    say("In Python: from rosenblatt import Perceptron, train, certify, trace")


def movie_reviews() -> None:
    """The worked example of the lecture notes, step by step."""
    movies, run = _traced("movies")
    _title("1. Three movie reviews, four words")
    say("epoch  review      label  score  predicted    weights of movie, good, bad, not")
    for s in run:
        weights = ", ".join(f"{w:+d}" if w else "0" for w in s.weights_after)
        review, label = movies.row_names[s.row], movies.y[s.row]
        row = f"{s.epoch:>5}  {review:<10}  {label:+5d}  {s.score:>5}  "
        verdict = Styled("mistake", "bad") if s.mistake else Styled("right  ", "good")
        after = weights if s.mistake else "no change"
        say([f"{row}{s.prediction:+d} ", verdict, f"   {after}"])
    say(f"An epoch without a mistake: separated, {_counts(run)}.")


def contradiction() -> None:
    """Reviews that no line separates, and that bigrams make separable."""
    _title("2. good, bad, not good, not bad")
    for name in ("not-good", "not-good-bigrams"):
        example, run = _traced(name)
        style = "good" if run.stop_reason == "separated" else "bad"
        say(f"features {', '.join(example.feature_names)}:")
        say(["  ", Styled(run.stop_reason, style), f" after {_counts(run)}"])
    say(
        "A cycle means that the weights of an earlier epoch came back: a proof that no",
        "weights on these features are right for all four. Pairs of words as features help.",
        "The same steps with their arithmetic:",
    )
    say(Styled(f"$ rosenblatt trace --example {name}", "name"))


def _traced(name: str) -> tuple[Any, Any]:
    """An example, and its trace with the mistake rule of its source."""
    from rosenblatt import teaching_sets, trace

    example = teaching_sets.load(name)
    options = {"mistake": example.mistake, "fit_intercept": example.fit_intercept}
    return example, trace(example.X, example.y, **options)


def _counts(run: Any) -> str:
    return f"{counted(run.n_updates, 'update')} in {counted(run.n_epochs, 'epoch')}"


def text_file() -> None:
    """From a file of text to a model."""
    _title("3. A file of 4,000 reviews")
    reviews = list(_reviews(5_000, random.Random(3)))
    _write("reviews.csv", "label,text", reviews[:4_000])
    _write("test.csv", "label,text", reviews[4_000:])
    say("Made up, with one wrong label in fifty, so that no model can be perfect. Two rows:")
    say(*(f"  {label},{text}"[:WIDTH] for label, text in reviews[:2]), wrap=False)
    _run("train reviews.csv --label label")


def model() -> None:
    """What the model does on other rows, and why."""
    _title("4. Other reviews")
    _run("evaluate reviews.model test.csv")
    _run("explain reviews.model --top 4", "the plot is not boring")


def certificate() -> None:
    """Two kinds of iris that no line separates: the certificate, and its verification."""
    from sklearn.datasets import load_iris

    _title("5. Can any line separate these flowers?")
    measured, kinds = load_iris(return_X_y=True)
    names = ("setosa", "versicolor", "virginica")
    rows = [(*measured[i, 2:].tolist(), names[kinds[i]]) for i in range(len(kinds)) if kinds[i] > 0]
    _write("flowers.csv", "petal length,petal width,label", rows)
    _run("certify flowers.csv --label label --out proof.json")
    _run("verify proof.json flowers.csv")


def _title(text: str) -> None:
    say("", Styled(f"{text} {'─' * (WIDTH - len(text) - 1)}", "strong"), wrap=False)


def _run(words: str, *quoted: str) -> None:
    """Print a command on one line, and run it."""
    from rosenblatt.cli import app

    line = " ".join([f"$ rosenblatt {words}", *(f'"{word}"' for word in quoted)])
    say(Styled(line, "name"), wrap=False)
    app([*words.split(), *quoted], standalone_mode=False)


def _write(name: str, header: str, rows: Any) -> None:
    lines = [header, *(",".join(map(str, row)) for row in rows)]
    Path(name).write_text("\n".join(lines) + "\n", "utf-8")


_PRAISE = (
    "wonderful", "gripping", "funny", "moving", "clever",
    "beautiful", "superb", "charming", "fresh", "touching",
)  # fmt: skip
_BLAME = (
    "boring", "clumsy", "dull", "predictable", "awful",
    "tedious", "shallow", "noisy", "silly", "lifeless",
)  # fmt: skip
_PARTS = (
    "plot", "acting", "music", "script", "ending",
    "dialogue", "camera", "cast", "pace", "story",
)  # fmt: skip
_REST = (
    "I saw it on Sunday", "it runs for two hours", "my sister came along", "the cinema was full",
    "it is based on a novel", "we sat in the last row", "a friend had told me about it",
    "it won a prize somewhere", "the first part came out last year", "we went home by bus",
)  # fmt: skip


def _reviews(count: int, draw: random.Random) -> Iterator[tuple[str, str]]:
    """Random reviews: praise or blame, some of it negated, and neutral sentences."""
    for _ in range(count):
        good = draw.random() < 0.5
        said = []
        for part in draw.sample(_PARTS, draw.randint(1, 3)):
            agrees, negated = draw.random() < 0.95, draw.random() < 0.3
            words = _PRAISE if (good == agrees) != negated else _BLAME
            said.append(f"the {part} is {'not ' * negated}{draw.choice(words)}")
        said += draw.sample(_REST, draw.randint(1, 3))
        draw.shuffle(said)
        wrong = draw.random() < 0.02
        yield "pos" if good != wrong else "neg", ". ".join(said)
