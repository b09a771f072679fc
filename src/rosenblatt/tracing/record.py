"""A finished run: its steps, why it stopped, and the convergence proof."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rosenblatt.errors import counted
from rosenblatt.reference import Order, Rate, Vector
from rosenblatt.tracing import render, words
from rosenblatt.tracing.document import document, folded
from rosenblatt.tracing.pocket import Pocket, PocketState, RunningAverage
from rosenblatt.tracing.problem import TraceProblem
from rosenblatt.tracing.proof import Proof, prove, widest_separator
from rosenblatt.tracing.run import TraceRun, TraceStep, rule_of
from rosenblatt.tracing.words import Block

MOST_ITEMS = 20
"""A notebook shows longer runs as a table."""


class Trace(render.Printed, Sequence[TraceStep]):
    """A finished run: a sequence of steps, printed as a worked example.

    A notebook shows a long run as a table with the middle folded away. Made by :func:`trace`.

    Attributes
    ----------
    problem : TraceProblem
        The rows with their names, the labels and the rule.
    steps : tuple of TraceStep
        All steps.
    stop_reason : {"separated", "cycle", "budget"}
        Why the run stopped, as for :class:`~rosenblatt.tracing.TraceRun`.
    contradiction : dict or None
        After a cycle, the rows that contradict each other and the coefficient of each.
    weights, bias
        The last weights.

    ``to_text``, ``to_markdown``, ``to_latex`` and ``to_html`` take the same options:

    style : {"steps", "table"}
        Every step with its arithmetic, or one line per step.
    proof : bool
        Whether to add the quantities of the convergence proof.
    show : sequence of {"average", "pocket"}
        Whether to add the running average and the pocket after each step.

    Examples
    --------
    >>> from rosenblatt import trace
    >>> run = trace([[2, 1], [-1, 1]], [1, -1])
    >>> [(step.row, step.score, step.mistake) for step in run]
    [(0, 0, True), (1, 0, True), (0, 6, False), (1, -3, False)]
    >>> print(run.to_text("table"))
    The rows
    --------
    row     y  x1  x2
    -----  --  --  --
    row 1  +1   2   1
    row 2  -1  -1   1
    <BLANKLINE>
    The run
    -------
    step  epoch  row     y   s  predicted  verdict       w  b
    ----  -----  -----  --  --  ---------  -------  ------  -
       1      1  row 1  +1   0         -1  mistake  [2, 1]  1
       2      1  row 2  -1   0         -1  mistake  [3, 0]  0
       3      2  row 1  +1   6         +1  right    [3, 0]  0
       4      2  row 2  -1  -3         -1  right    [3, 0]  0
    <BLANKLINE>
    The end
    -------
    Epoch 2 passed without a mistake, after 2 updates in all.
    <BLANKLINE>
    w = [3, 0], b = 0
    <BLANKLINE>
    """

    def __init__(self, run: TraceRun) -> None:
        run.finish()
        self.problem = run.problem
        self.update, self.rule = run.update, run.rule
        self.steps = tuple(run.steps)
        self.stop_reason = run.stop_reason or "budget"
        self.contradiction = run.contradiction
        self.weights, self.bias = run.at(len(run.steps))
        self._start = run.start

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, index: Any) -> Any:
        return self.steps[index]

    def __repr__(self) -> str:
        updates = counted(self.n_updates, "update")
        return f"<Trace: {counted(len(self), 'step')}, {updates}, {self.stop_reason}>"

    def _repr_html_(self) -> str:
        style = "steps" if len(self) <= MOST_ITEMS else "table"
        return render.html_page(folded(document(self, style)))

    @property
    def n_updates(self) -> int:
        """The number of updates."""
        return self.steps[-1].updates if self.steps else 0

    @property
    def n_epochs(self) -> int:
        """The number of epochs, including an unfinished one."""
        return self.steps[-1].epoch if self.steps else 0

    @property
    def path(self) -> list[tuple[Vector, Any]]:
        """Weights and bias at the start and after each update."""
        return [
            self._start,
            *((step.weights_after, step.bias_after) for step in self.steps if step.mistake),
        ]

    @property
    def averages(self) -> list[tuple[Vector, Any]]:
        """The means of weights and bias so far, after each step.

        >>> trace([[2, 1], [-1, 1]], [1, -1]).averages[1]
        ((Fraction(5, 2), Fraction(1, 2)), Fraction(1, 2))
        """
        average = RunningAverage(self.steps)
        return [average.after(position) for position in range(1, len(self) + 1)]

    @property
    def pockets(self) -> list[PocketState]:
        """The pocket after each step: the weights with the fewest mistaken rows so far.

        >>> [state.errors for state in trace([[2, 1], [-1, 1]], [1, -1]).pockets]
        [1, 0, 0, 0]
        """
        pocket = Pocket(self.problem, self._start, self.steps)
        return [pocket.after(position) for position in range(1, len(self) + 1)]

    def arithmetic(self, index: int) -> list[str]:
        """The lines of one step, as plain text.

        >>> trace([[2, 1], [-1, 1]], [1, -1]).arithmetic(1)[1]
        's = w·x + b = 2·(-1) + 1·1 + 1 = 0'
        """
        return ["".join(line) for line in words.arithmetic(self.problem, self.steps[index])]

    def proof(self, separator: Sequence[Any] | None = None) -> Proof:
        """The quantities of the convergence proof after each update.

        Parameters
        ----------
        separator : sequence of float, optional
            A vector that separates the padded rows ``y·(x, c)``; by default the separator of
            largest margin. Raises a ValueError if there is none.
        """
        if self.rule is not None:
            raise ValueError("the proof is that of the perceptron, not of another rule")
        if separator is None:
            separator = widest_separator(self.problem)
        if separator is None:
            raise ValueError("no line separates the rows, so the proof does not apply")
        start = self.problem.padded_weights(*self._start)
        return prove(self.problem, self.steps, separator, start)

    def _document(
        self, style: str = "steps", *, proof: bool = False, show: Sequence[str] = ()
    ) -> list[Block]:
        return document(self, style, proof, show)


def trace(
    X: Any,
    y: Any,
    *,
    feature_names: Sequence[str] | None = None,
    row_names: Sequence[str] | None = None,
    threshold: Any = 0,
    mistake: str = "margin",
    update: str = "online",
    eta: Rate = 1,
    fit_intercept: bool = True,
    intercept_scaling: Any = 1,
    order: Order = False,
    weights: Sequence[Any] | None = None,
    bias: Any = 0,
    max_epochs: int = 100,
    seed: int | None = None,
    rule: str = "perceptron",
    C: float = 1.0,
    r: float = 1.0,
) -> Trace:
    """Run the reference perceptron on a small data set and record every step.

    Parameters
    ----------
    X, y
        Rows of numbers (an array, a data frame, nested lists; fractions stay exact) and labels of
        two classes. The larger label counts as +1.
    feature_names, row_names
        Names of the columns and the rows. Columns of a data frame bring theirs.
    threshold, mistake
        When an example counts as mistaken; see :mod:`rosenblatt.reference`.
    update : {"online", "batch"}
        One row per step, or all mistaken rows at once.
    eta
        Learning rate: a number, or a function of the step number.
    fit_intercept, intercept_scaling
        Whether there is a bias, and the padding constant c.
    order, seed
        The order of the rows, as for :func:`rosenblatt.reference.online`.
    weights, bias
        Initial weights and bias; zero by default.
    max_epochs
        The maximum number of epochs.
    rule : {"perceptron", "pa", "pa1", "pa2", "arow"}
        Another member of the family: passive-aggressive with its aggressiveness `C`, or AROW with
        its `r`. They have a threshold of 1 and start from zero.

    Examples
    --------
    >>> from rosenblatt import teaching_sets, trace
    >>> xor = teaching_sets.load("xor")
    >>> run = trace(xor.X, xor.y)
    >>> run
    <Trace: 4 steps, 4 updates, cycle>
    >>> run.contradiction
    {0: Fraction(1, 1), 1: Fraction(1, 1), 2: Fraction(1, 1), 3: Fraction(1, 1)}
    >>> for line in trace([[2], [-1]], [1, -1], rule="arow").arithmetic(0):
    ...     print(line)
    w = [0], b = 0
    s = w·x + b = 0·2 + 0 = 0
    ℓ = max(0, 1 - y·s) = max(0, 1 - 0) = 1: a mistake
    v = Σ σ·x² = 5, β = 1/(v + r) = 0.166667, α = ℓ·β = 0.166667
    w ← w + α·y·σ·x = [0.333333], b ← 0.166667
    σ ← σ - β·(σ·x)² = [0.333333]
    """
    member = rule_of(rule, C, r)
    if member is not None and (threshold != 0 or mistake != "margin" or eta != 1):
        raise ValueError(f"rule={rule!r} has a threshold of 1 and no learning rate of yours")
    threshold = threshold if member is None else 1
    padding = intercept_scaling if fit_intercept else None
    names = {"feature_names": feature_names, "row_names": row_names}
    problem = TraceProblem.of(X, y, **names, threshold=threshold, padding=padding, mistake=mistake)
    start = tuple(weights) if weights is not None else None
    if start is not None and len(start) != len(problem.X[0]):
        raise ValueError(f"{len(start)} weights do not fit {len(problem.X[0])} features")
    steps = {"update": update, "eta": eta, "order": order, "seed": seed, "rule": member}
    run = TraceRun(problem, weights=start, bias=bias, max_epochs=max_epochs, **steps)
    return Trace(run)
