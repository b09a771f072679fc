"""`rosenblatt demo`: a tour of the package on built-in data."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from contextlib import chdir
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rosenblatt.errors import counted

ORDERS = 10

if TYPE_CHECKING:
    from rich.console import Console

    from rosenblatt import Perceptron


def demo() -> None:
    """Watch perceptrons learn: a worked example, a text file, a certificate, digits.

    Needs no file and no network, and leaves no file behind.

    Examples:

      rosenblatt demo
    """
    from rich.console import Console

    console = Console()
    movie_reviews(console)
    contradiction(console)
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        text_file(console)
        certificate(console)
    digits(console)
    console.print(
        "\nNext: [bold]rosenblatt train YOUR_FILE --label COLUMN[/bold], or in Python "
        "[bold]from rosenblatt import Perceptron[/bold].\n"
    )


def movie_reviews(console: Console) -> None:
    """The worked example of the lecture notes, step by step."""
    from rich.table import Table

    movies, run = _traced("movies")
    console.rule("[bold]1. Three movie reviews, four words")
    table = Table("epoch", "review", "label", "score", "predicted", "weights after", box=None)
    for s in run:
        weights = "  ".join(
            f"{name} {w:+d}" for name, w in zip(movies.feature_names, s.weights_after, strict=True)
        )
        row = [str(s.epoch), movies.row_names[s.row], f"{movies.y[s.row]:+d}", str(s.score)]
        predicted = f"{s.prediction:+d}" + (" [red]mistake[/red]" if s.mistake else "")
        table.add_row(*row, predicted, weights if s.mistake else "[dim]no change")
    console.print(table)
    console.print(f"An epoch without a mistake: [green]separated[/green], {_counts(run)}.\n")


def contradiction(console: Console) -> None:
    """Reviews that no line separates, and that bigrams make separable."""
    console.rule("[bold]2. good, bad, not good, not bad")
    for name in ("not-good", "not-good-bigrams"):
        example, run = _traced(name)
        colour = "green" if run.stop_reason == "separated" else "yellow"
        console.print(
            f"features {', '.join(example.feature_names)}: "
            f"[{colour}]{run.stop_reason}[/{colour}] after {_counts(run)}"
        )
    console.print(
        "A cycle means that the weights of an earlier epoch came back: proof that no weights on "
        "these features get all four right. With one feature per pair of words a solution exists.\n"
        f"The same steps with their arithmetic: [bold]rosenblatt trace --example {name}[/bold]\n"
    )


def _traced(name: str) -> tuple[Any, Any]:
    """An example, and its trace with the mistake rule of its source."""
    from rosenblatt import teaching_sets, trace

    example = teaching_sets.load(name)
    options = {"mistake": example.mistake, "fit_intercept": example.fit_intercept}
    return example, trace(example.X, example.y, **options)


def _counts(run: Any) -> str:
    return f"{counted(run.n_updates, 'update')} in {counted(run.n_epochs, 'epoch')}"


def text_file(console: Console) -> None:
    """From a file of text to a model: train, evaluate, inspect."""
    console.rule("[bold]3. A file of 4,000 reviews")
    reviews = list(_reviews(5_000, random.Random(3)))
    _write("reviews.csv", "label,text", reviews[:4_000])
    _write("test.csv", "label,text", reviews[4_000:])
    console.print("[dim]The first three rows:[/dim]")
    for label, text in reviews[:3]:
        console.print(f"  {label},{text}", highlight=False)
    _run(console, "train reviews.csv --label label")
    _run(console, "evaluate reviews.model test.csv")
    _run(console, "inspect reviews.model --top 4")
    console.print(
        "\nThe reviews are made up, and one label in fifty is wrong: no model can be perfect.\n"
    )


def certificate(console: Console) -> None:
    """Two kinds of iris that no line separates: the certificate, and its verification."""
    from sklearn.datasets import load_iris

    console.rule("[bold]4. Can any line separate these flowers?")
    measured, kinds = load_iris(return_X_y=True)
    names = ("setosa", "versicolor", "virginica")
    rows = [(*measured[i, 2:].tolist(), names[kinds[i]]) for i in range(len(kinds)) if kinds[i] > 0]
    _write("flowers.csv", "petal length,petal width,label", rows)
    _run(console, "certify flowers.csv --label label --out proof.json")
    _run(console, "verify proof.json flowers.csv")
    console.print()


def _run(console: Console, words: str) -> None:
    """Print a command line and run it."""
    from rosenblatt.cli import app

    console.print(f"\n[bold]$ rosenblatt {words}[/bold]", highlight=False)
    app(words.split(), standalone_mode=False)


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


def digits(console: Console) -> None:
    """Ten classes on held-out data: last, averaged and best weights."""
    from time import perf_counter

    from rich.table import Table
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    from rosenblatt import Perceptron

    X, y = load_digits(return_X_y=True)
    split = partial(train_test_split, random_state=0)
    X_train, X_rest, y_train, y_rest = split(X, y, test_size=0.4, stratify=y)
    X_val, X_test, y_val, y_test = split(X_rest, y_rest, test_size=0.5, stratify=y_rest)
    console.rule("[bold]5. Handwritten digits, ten classes")
    with console.status("Compiling, once on this machine ..."):
        for keep in ("last", "average"):
            model = Perceptron.textbook(max_iter=1, tol=None, keep=keep)
            model.fit(X_train, y_train, X_val=X_val, y_val=y_val)
    table = Table("keep", "test error", "worst", "epochs", "stopped by", "time per fit", box=None)
    for keep in ("last", "average", "best"):
        began = perf_counter()
        models = [
            Perceptron.textbook(keep=keep, random_state=seed).fit(
                X_train, y_train, X_val=X_val, y_val=y_val
            )
            for seed in range(ORDERS)
        ]
        milliseconds = 1000 * (perf_counter() - began) / ORDERS
        errors = [1 - model.score(X_test, y_test) for model in models]
        measured = [f"{sum(errors) / ORDERS:.2%}", f"{max(errors):.2%}"]
        epochs = f"{sum(model.n_iter_ for model in models) / ORDERS:.0f}"
        colour, reason = "green" if models[0].converged_ else "yellow", models[0].stop_reason_
        stopped = f"[{colour}]{reason}[/{colour}]"
        table.add_row(keep, *measured, epochs, stopped, f"{milliseconds:.0f} ms")
        if keep == "last":
            bars(console, models[0])
    console.print(table)
    console.print(
        f"Means over {ORDERS} random orders. 60 % of the rows for training, 20 % to choose the "
        "best epoch, 20 % for the test error and nothing else."
    )


def bars(console: Console, model: Perceptron) -> None:
    """Print the updates per epoch as bars."""
    updates = model.history_["updates"]
    steps, epochs = counted(model.t_, "step"), counted(model.n_iter_, "epoch")
    console.print(f"updates per epoch, {steps} in {epochs}")
    for epoch in model.history_:
        width = round(48 * epoch.updates / max(updates.max(), 1))
        console.print(f"{epoch.epoch:>4} [cyan]{'█' * width}[/cyan] {epoch.updates}")
