"""Pictures of weights: the largest by name, and the path of two through weight space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.viz import style
from rosenblatt.viz.style import GOOD, INK, NEGATIVE, POSITIVE, SOFT, Display


@dataclass(eq=False, repr=False)
class TopWordsDisplay(Display):
    """The largest weights of each sign, by the names of their features.

    Parameters
    ----------
    names : sequence of str
        The features, from the largest weight to the smallest.
    weights : sequence of float
        Their weights.
    title : str
        The title, which names the class.

    Examples
    --------
    >>> from rosenblatt import Perceptron, teaching_sets
    >>> from rosenblatt.viz import TopWordsDisplay
    >>> m = teaching_sets.load("movies")
    >>> textbook = Perceptron.textbook(shuffle=False, mistake="sign", fit_intercept=False)
    >>> TopWordsDisplay.from_estimator(textbook.fit(m.X, m.y), m.feature_names, top=1).names
    ['movie', 'not']
    """

    names: Sequence[str]
    weights: Sequence[float]
    title: str = ""

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        feature_names: Sequence[str] | None = None,
        *,
        label: Any = None,
        top: int = 12,
        ax: Any = None,
        **options: Any,
    ) -> TopWordsDisplay:
        """Draw the weights of a fitted linear estimator, or of a model of :func:`rosenblatt.train`.

        Parameters
        ----------
        estimator
            Anything with ``coef_`` and ``classes_``; or a :class:`rosenblatt.Model`, which knows
            its strongest features by name.
        feature_names
            The names of the columns; by default ``feature_names_in_``.
        label
            The class to show; by default the second of two, required if there are more.
        top
            The number of weights of each sign.
        """
        if not hasattr(estimator, "coef_") and hasattr(estimator, "words"):
            return cls._of_model(estimator, label, top).plot(ax=ax, **options)
        style.refuse_pairs(estimator)
        coef = estimator.coef_
        coef = np.asarray(coef.toarray() if hasattr(coef, "toarray") else coef)
        names = feature_names
        if names is None:
            names = getattr(estimator, "feature_names_in_", None)
        if names is None:
            raise ValueError("the estimator was fitted without feature names: pass feature_names")
        if len(names) != coef.shape[1]:
            raise ValueError(f"{len(names)} names do not fit {coef.shape[1]} features")
        classes = list(estimator.classes_)
        if label is None and len(coef) > 1:
            raise ValueError(f"choose the label to show, one of {classes}")
        index = len(classes) - 1 if label is None else classes.index(label)
        weights = coef[index] if len(coef) > 1 else coef[0] * (1 if index == 1 else -1)
        title = f"for and against {classes[index]}"
        return cls._top(names, weights, top, title).plot(ax=ax, **options)

    @classmethod
    def _of_model(cls, model: Any, label: Any, top: int) -> TopWordsDisplay:
        classes = list(model.classes)
        if label is None and len(classes) > 2:
            raise ValueError(f"choose the label to show, one of {classes}")
        label = classes[-1] if label is None else label
        if label not in classes:
            raise ValueError(f"there is no label {label!r}; choose one of {classes}")
        # Of two classes each has its own list of features, all with positive numbers.
        others = [name for name in classes if name != label] if len(classes) == 2 else []
        pairs = [*model.words.get(label, [])[:top]]
        pairs += [(name, -weight) for other in others for name, weight in model.words[other][:top]]
        if not pairs:
            raise ValueError("the model names no features: it was trained on rows without names")
        pairs.sort(key=lambda pair: -pair[1])
        names, weights = zip(*pairs, strict=True)
        return cls(names, weights, f"for and against {label}" if others else f"for {label}")

    @classmethod
    def _top(cls, names: Sequence[str], weights: Any, top: int, title: str) -> TopWordsDisplay:
        order = np.argsort(-weights, kind="stable")
        chosen = [j for j in order[:top] if weights[j] > 0]
        chosen += [j for j in order[max(len(order) - top, 0) :] if weights[j] < 0]
        return cls([str(names[j]) for j in chosen], weights[chosen], title)

    def plot(self, ax: Any = None) -> TopWordsDisplay:
        """Draw into `ax`, or into a new figure."""
        ax = self._prepare(ax, figsize=(5.6, 1.0 + 0.27 * len(self.names)))
        at = np.arange(len(self.names))
        colors = [POSITIVE if weight > 0 else NEGATIVE for weight in self.weights]
        self.bars_ = ax.barh(at, self.weights, color=colors, height=0.7)
        ax.axvline(0, color=INK, linewidth=1)
        ax.set_yticks(at, self.names)
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.invert_yaxis()
        ax.set(xlabel="weight", title=self.title)
        return self


@dataclass(eq=False, repr=False)
class WeightSpaceDisplay(Display):
    """Each row forbids one side of a line; what none forbids is the cone of solutions.

    A row ``z = y·(x, c)`` is right for the weights with ``w·z > δ``: a half-plane, drawn by its
    edge with strokes on the forbidden side. The path shows w from its start to its end.

    Parameters
    ----------
    rows : array of shape (n, 2)
        The padded rows z.
    signs : array of shape (n,)
        Their labels, -1 or +1.
    path : array of shape (k + 1, 2)
        The weights at the start and after each update.
    axes : pair of str
        The names of the two weights.
    threshold : float
        δ.

    Examples
    --------
    >>> from rosenblatt import trace
    >>> from rosenblatt.viz import WeightSpaceDisplay
    >>> run = trace([[2], [-1]], [1, -1])
    >>> WeightSpaceDisplay.from_trace(run).path.tolist()
    [[0.0, 0.0], [2.0, 1.0]]
    """

    rows: Any
    signs: Any
    path: Any
    axes: tuple[str, str]
    threshold: float = 0.0

    @classmethod
    def from_trace(
        cls, trace: Any, *, step: int | None = None, ax: Any = None, **options: Any
    ) -> WeightSpaceDisplay:
        """Draw a trace with two weights in all: two features, or one feature and a bias."""
        problem = trace.problem
        rows = np.array([problem.padded(i) for i in range(len(problem.X))], dtype=float)
        if rows.shape[1] != 2:
            raise ValueError(
                f"two weights can be drawn, not {rows.shape[1]}: take two features through the "
                "origin, or one feature and a bias"
            )
        steps = trace.steps[: len(trace) if step is None else step]
        states = [trace.path[0], *((s.weights_after, s.bias_after) for s in steps if s.mistake)]
        path = np.array([problem.padded_weights(w, b) for w, b in states], dtype=float)
        axes = [*(f"weight of {name}" for name in problem.feature_names), "bias"]
        display = cls(rows, np.array(problem.signs), path, (axes[0], axes[1]), problem.threshold)
        return display.plot(ax=ax, **options)

    def plot(self, ax: Any = None, *, legend: bool = True) -> WeightSpaceDisplay:
        """Draw into `ax`, or into a new figure."""
        ax = self._prepare(ax, figsize=(5.2, 5.0))
        low, high = self.path.min(axis=0), self.path.max(axis=0)
        center, extent = (low + high) / 2, 0.65 * max(float(np.max(high - low)), 1.0)
        across, up = (np.linspace(c - extent, c + extent, 400) for c in center)
        grid = np.stack(np.meshgrid(across, up), axis=-1)
        worst = np.min(grid @ self.rows.T, axis=-1) - self.threshold
        self.cone_ = None
        if worst.max() > 0:
            self.cone_ = ax.contourf(
                across, up, worst, levels=[0, worst.max()], colors=[GOOD], alpha=0.22
            )
        self.edges_ = [self._draw_edge(ax, z, y, center, extent) for z, y in self._edges()]
        (self.path_,) = ax.plot(*self.path.T, color=INK, linewidth=1.4, zorder=4)
        for start, end in zip(self.path[:-1], self.path[1:], strict=True):
            arrow = {"arrowstyle": "-|>", "color": INK, "shrinkA": 0, "shrinkB": 0}
            ax.annotate("", end, start, zorder=5, arrowprops=arrow)
        ax.scatter(*self.path[0], s=36, facecolors="white", edgecolors=INK, zorder=6, label="start")
        ax.scatter(*self.path[-1], s=110, color=INK, marker="*", zorder=6, label="end")
        if self.cone_ is not None:
            ax.fill([], [], color=GOOD, alpha=0.3, label="solutions")
        ax.plot([], [], color=SOFT, linewidth=1, label="a row; strokes: where it is wrong")
        ax.set(xlim=across[[0, -1]], ylim=up[[0, -1]], aspect="equal")
        ax.set(xlabel=self.axes[0], ylabel=self.axes[1])
        if legend:
            ax.legend(loc="best", framealpha=0.9)
        return self

    def _edges(self) -> list[tuple[Any, int]]:
        """One row and sign per distinct edge; zero rows have none."""
        seen: dict[tuple[float, ...], tuple[Any, int]] = {}
        for z, y in zip(self.rows, self.signs, strict=True):
            length = np.linalg.norm(z)
            if length:
                key = (*np.round(z / length, 9), round(self.threshold / length, 9))
                seen.setdefault(key, (z, int(y)))
        return list(seen.values())

    def _draw_edge(self, ax: Any, z: Any, y: int, center: Any, extent: float) -> Any:
        length = np.linalg.norm(z)
        normal = z / length
        along = np.array([-normal[1], normal[0]])
        foot = normal * self.threshold / length + (center @ along) * along
        ends = np.array([foot - 3 * extent * along, foot + 3 * extent * along])
        color, style = (POSITIVE, "-") if y > 0 else (NEGATIVE, "--")
        (edge,) = ax.plot(*ends.T, color=color, linestyle=style, linewidth=1, alpha=0.8, zorder=2)
        # Strokes stand on the side the row forbids.
        at = foot + np.outer(np.linspace(-1.5 * extent, 1.5 * extent, 19), along)
        strokes = np.stack([at, at - 0.035 * extent * normal])
        ax.plot(strokes[..., 0], strokes[..., 1], color=color, linewidth=0.8, alpha=0.6, zorder=2)
        return edge
