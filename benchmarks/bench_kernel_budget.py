"""What a budget of support rows costs: one pass over 10,000 digits, each way to forget.

    python benchmarks/bench_kernel_budget.py

MNIST, ``exp(-0.02·‖x - y‖²)``, each digit against the rest, the last weights. Updates on the way
(all classes), support rows (all classes together) and test error.
"""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from common import machine, mnist, seconds
from rosenblatt import KernelPerceptron
from rosenblatt.learners.budget import POLICIES

ROWS = 10_000


def main() -> None:
    console = Console(width=130)
    console.print(machine(), "\n")
    (X, y), (X_test, y_test) = mnist(), mnist("t10k")
    X, y = X[:ROWS], y[:ROWS]
    KernelPerceptron.textbook(kernel="rbf", keep="last").fit(X[:300], y[:300])  # compile
    table = Table("rows per class", "forget", "updates", "support", "error %", "seconds", box=None)
    runs = [(budget, forget) for budget in (50, 100, 200) for forget in POLICIES]
    for budget, forget in [*runs, (None, "random")]:
        model = KernelPerceptron.textbook(
            kernel="rbf",
            gamma=0.02,
            keep="last",
            max_support=budget,
            forget=forget,
            random_state=0,
        )
        taken = seconds(lambda m=model: m.partial_fit(X, y, range(10)))
        table.add_row(
            "all" if budget is None else str(budget), "-" if budget is None else forget,
            f"{model.n_updates_:,}", f"{model.support_.size:,}",
            f"{100 * (1 - model.score(X_test, y_test)):.2f}", f"{taken:.2f}",
        )  # fmt: skip
    console.print(table)


if __name__ == "__main__":
    main()
