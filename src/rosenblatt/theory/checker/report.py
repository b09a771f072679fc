"""A certificate in plain English."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING

from rosenblatt.errors import listed, visible

if TYPE_CHECKING:
    from rosenblatt.theory.checker.certificate import Certificate, Combination

SHOWN = 8
# What a certificate about a file says of the numbers in it.
OF_NUMBERS = {
    "decimals": "Decimals are taken as they stand in the file.",
    "doubles": "Decimals are taken as the nearest doubles.",
}


def counted(count: int, noun: str) -> str:
    """A count with its noun.

    >>> counted(1, "row"), counted(25_000, "row")
    ('1 row', '25,000 rows')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def as_html(text: str) -> str:
    """A report for a notebook, the first line in bold.

    >>> as_html("SEPARABLE: a < b.\\nData: 2 rows.")
    '<div><strong>SEPARABLE: a &lt; b.</strong><br>Data: 2 rows.</div>'
    """
    first, *others = [escape(line) for line in text.split("\n")]
    return f"<div>{'<br>'.join([f'<strong>{first}</strong>', *others])}</div>"


def side_text(names: Sequence[str]) -> str:
    """The classes of one side, in words.

    >>> side_text(["a"]), side_text(["a", "b", "c"])
    ('class a', 'classes a, b and c')
    """
    if len(names) > 9:
        return f"classes {listed(names, most=8)}"
    *others, last = map(visible, names)
    return f"classes {', '.join(others)} and {last}" if others else f"class {last}"


class Reported:
    """A result that prints its `report`, also in notebooks."""

    def report(self) -> str:
        """The result in plain English."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.report()

    def _repr_html_(self) -> str:
        return as_html(self.report())


def report(certificate: Certificate) -> str:
    """A short report for readers who are not mathematicians."""
    c = certificate
    one, other = side_text(c.negative), side_text(c.positive)
    rows = f"{counted(c.n_rows, 'row')}, numbered from 0, and {counted(c.n_columns, 'column')}"
    lines = [f"{c.verdict.upper()}: {_headline(c, one, other)}", f"Data: {rows}."]
    if c.source is not None and c.source.numbers:
        lines.append(OF_NUMBERS[c.source.numbers])
    if not c.exact and c.verdict != "undecided":
        lines.append("Not proven: this is what floating-point arithmetic suggests.")
    if c.verdict == "separable":
        lines += _margins(c)
    if c.verdict == "quasi-separable":
        lines.append("The hyperplane below has no row on the wrong side, but some rows lie on it.")
    if c.weights is not None:
        lines.append(f"Hyperplane: {_plane(c)}")
    if c.columns:
        names = _listed([_column(c, rule.column) for rule in c.columns])
        lines.append(f"Separating the classes alone: {names}.")
    if c.contradiction is not None:
        lines += _contradiction(c, c.contradiction, one, other)
    if c.balance is not None:
        rows = _listed([str(i) for i in c.balance.rows])
        lines.append(f"These {len(c.balance.rows):,} rows contradict each other: {rows}.")
        lines.append(
            "With the weights in the certificate they cancel: "
            "what a hyperplane gains on some of them, it loses on others."
        )
    if c.verdict == "inseparable" and c.exact:
        lines.append(
            "The classes overlap: even a hyperplane that may touch rows cannot separate them."
        )
    return "\n".join(lines)


def _headline(c: Certificate, one: str, other: str) -> str:
    through = "" if c.fit_intercept else " through the origin"
    if c.verdict == "separable":
        return f"a hyperplane{through} has {one} on one side and {other} on the other."
    if c.verdict == "quasi-separable":
        return (
            f"{one} and {other} touch: no hyperplane{through} keeps them apart, "
            "but one has neither on the wrong side."
        )
    if c.verdict == "inseparable":
        return f"no hyperplane{through} has {one} on one side and {other} on the other."
    if c.contradiction is not None:
        return (
            f"no hyperplane{through} keeps {one} and {other} apart; "
            "whether one has neither on the wrong side was not decided within the time limit."
        )
    return f"the time limit was reached; whether one separates {one} and {other} is not known."


def _column(c: Certificate, j: int) -> str:
    """The name of a column; a name that is a number is written as "column 3"."""
    if c.source is None:
        return f"column {j}"
    name = c.source.columns[j]
    try:
        float(name)
    except ValueError:
        return visible(name)
    return f"column {name}"


def _listed(items: list[str]) -> str:
    if len(items) > SHOWN + 1:
        return ", ".join(items[:SHOWN]) + f" and {len(items) - SHOWN:,} more"
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1]


def _margins(c: Certificate) -> list[str]:
    if c.augmented is None or c.geometric is None:
        return []
    lines = [f"Largest distance from every row: {_interval(c.geometric.lower, c.geometric.upper)}."]
    if c.mistake_bound is not None:
        margin = _interval(c.augmented.lower, c.augmented.upper)
        lines.append(
            f"A perceptron makes at most {_shown_bound(c.mistake_bound)} mistakes on these rows, "
            f"in any order (R = {c.radius:.4g}, augmented margin {margin})."
        )
    return lines


def _interval(lower: float, upper: float) -> str:
    short = f"{lower:.4g}"
    return short if short == f"{upper:.4g}" else f"between {lower:.6g} and {upper:.6g}"


def _plane(c: Certificate) -> str:
    assert c.weights is not None
    used = [(w, _column(c, j)) for j, w in enumerate(c.weights) if w]
    if len(used) > SHOWN or any(abs(w) > 10**9 for w in (c.bias, *(w for w, _ in used))):
        return f"{len(used):,} of {c.n_columns:,} columns have a weight."
    terms = [_term(w, name, first=k == 0) for k, (w, name) in enumerate(used)]
    if c.bias:
        terms.append(_term(c.bias, "", first=not terms))
    above = ">=" if c.verdict == "quasi-separable" else ">"
    return f"{' '.join(terms)} {above} 0 for {side_text(c.positive)}."


def _term(w: int, name: str, first: bool) -> str:
    sign = ("-" if first else "- ") if w < 0 else ("" if first else "+ ")
    if not name:
        return f"{sign}{abs(w)}"
    return f"{sign}{name}" if abs(w) == 1 else f"{sign}{abs(w)}·{name}"


def _contradiction(c: Certificate, contradiction: Combination, one: str, other: str) -> list[str]:
    if len(contradiction.rows) == 1:
        return [
            f"Row {contradiction.rows[0]} is zero: it lies on every hyperplane through the origin."
        ]
    rows = _listed([str(i) for i in contradiction.rows])
    lines = [f"These {len(contradiction.rows):,} rows contradict each other: {rows}."]
    if len(contradiction.rows) <= SHOWN and c.fit_intercept:
        sides = []
        for sign in (-1, 1):
            parts = [
                f"{_share(share)}·row {i}"
                for i, s, share in zip(
                    contradiction.rows, contradiction.signs, contradiction.shares, strict=True
                )
                if s == sign
            ]
            sides.append(" + ".join(parts))
        lines.append(f"{sides[0]} ({one}) = {sides[1]} ({other}): the same point twice.")
    lines.append("Without any one of them, a hyperplane separates the others.")
    return lines


def _share(share: Fraction) -> str:
    return str(share) if share.denominator <= 999 else f"{float(share):.4g}"


def _shown_bound(bound: int) -> str:
    """A bound as a person writes it: of many digits three, rounded up.

    >>> _shown_bound(12_345), _shown_bound(10**79 + 1)
    ('12,345', '1.01E+79')
    """
    if bound < 10**15:
        return f"{bound:,}"
    return str(Context(prec=3, rounding=ROUND_CEILING).create_decimal(bound))
