"""`rosenblatt demo`: the whole story on data that come with the package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rosenblatt.counts import counted

ORDERS = 10

if TYPE_CHECKING:
    from rich.console import Console

    from rosenblatt import Perceptron


def demo() -> None:
    """Watch perceptrons learn: movie reviews, words that contradict each other, digits.

    Needs no file and no network.
    """
    from rich.console import Console

    console = Console()
    movie_reviews(console)
    contradiction(console)
    digits(console)
    console.print(
        "\nNext: [bold]from rosenblatt import Perceptron[/bold] — a scikit-learn classifier.\n"
    )


def movie_reviews(console: Console) -> None:
    """The worked example of the notes, step by step."""
    from rich.table import Table

    from rosenblatt import examples, reference

    movies = examples.load("movies")
    console.rule("[bold]1. Three movie reviews, four words")
    table = Table("epoch", "review", "truth", "score", "says", "weights after", box=None)
    for s in reference.online(movies.X, movies.y, mistake="sign", padding=None):
        weights = "  ".join(
            f"{name} {w:+d}" for name, w in zip(movies.feature_names, s.weights_after, strict=True)
        )
        row = [str(s.epoch), movies.row_names[s.row], f"{s.y:+d}", str(s.score)]
        says = f"{s.prediction:+d}" + (" [red]mistake[/red]" if s.mistake else "")
        table.add_row(*row, says, weights if s.mistake else "[dim]no change")
    console.print(table)
    console.print("An epoch without a mistake: [green]separated[/green].\n")


def contradiction(console: Console) -> None:
    """Reviews that no line separates, and the bigrams that help."""
    from rosenblatt import Perceptron, examples

    console.rule("[bold]2. good, bad, not good, not bad")
    for name in ("not-good", "not-good-bigrams"):
        data = examples.load(name)
        model = Perceptron(shuffle=False, tol=None).fit(data.X, data.y)
        console.print(
            f"features {', '.join(data.feature_names)}: {_verdict(model)} "
            f"after {counted(model.n_updates_, 'update')} in {counted(model.n_iter_, 'epoch')}"
        )
    console.print(
        "A cycle means that the weights came back to where they were: proof that no weights on "
        "these features can get all four right. One more feature a pair of words, and some can.\n"
    )


def digits(console: Console) -> None:
    """Ten classes on held-out data: last, averaged and best weights."""
    from time import perf_counter

    from rich.table import Table
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    from rosenblatt import Perceptron

    X, y = load_digits(return_X_y=True)
    X_train, X_rest, y_train, y_rest = train_test_split(
        X, y, test_size=0.4, random_state=0, stratify=y
    )
    X_val, X_test, y_val, y_test = train_test_split(
        X_rest, y_rest, test_size=0.5, random_state=0, stratify=y_rest
    )
    console.rule("[bold]3. Handwritten digits, ten classes")
    with console.status("Compiling the kernels: once, then they are kept on disk ..."):
        Perceptron(max_iter=1).fit(X_train, y_train)
    table = Table("keep", "test error", "worst", "epochs", "stopped by", "time of a fit", box=None)
    for keep in ("last", "average", "best"):
        began = perf_counter()
        models = [
            Perceptron(keep=keep, random_state=seed).fit(X_train, y_train, X_val=X_val, y_val=y_val)
            for seed in range(ORDERS)
        ]
        milliseconds = 1000 * (perf_counter() - began) / ORDERS
        errors = [1 - model.score(X_test, y_test) for model in models]
        table.add_row(
            keep,
            f"{sum(errors) / ORDERS:.2%}",
            f"{max(errors):.2%}",
            f"{sum(model.n_iter_ for model in models) / ORDERS:.0f}",
            _verdict(models[0]),
            f"{milliseconds:.0f} ms",
        )
        if keep == "last":
            bars(console, models[0])
    console.print(table)
    console.print(
        f"Means over {ORDERS} random orders. Trained on 60 % of the rows; a fifth said which epoch "
        "was best; the error is on the last fifth, which nothing was chosen by."
    )


def bars(console: Console, model: Perceptron) -> None:
    """Mistakes an epoch as a bar each."""
    mistakes = model.history_["mistakes"]
    steps, epochs = counted(model.t_, "step"), counted(model.n_iter_, "epoch")
    console.print(f"mistakes an epoch, {steps} in {epochs}")
    for epoch in model.history_:
        width = round(48 * epoch.mistakes / max(mistakes.max(), 1))
        console.print(f"{epoch.epoch:>4} [cyan]{'█' * width}[/cyan] {epoch.mistakes}")


def _verdict(model: Any) -> str:
    colour = "green" if model.converged_ else "yellow"
    return f"[{colour}]{model.stop_reason_}[/{colour}]"
