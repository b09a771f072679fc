"""Formulas as MathML, made when the pages are built: readers need no script and no network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.errors import ExtensionError

from rosenblatt.course import formulas


def mathml(tex: str, display: str = "inline") -> str:
    """The MathML element of a formula; a command that is not known is an error, not red text."""
    element = formulas.mathml(tex, display)
    if "\\" in element:
        raise ExtensionError(f"the formula {tex!r} has a command without a MathML form: {element}")
    return element


def _inline(self: Any, node: nodes.math) -> None:
    self.body.append(mathml(node.astext()))
    raise nodes.SkipNode


def _block(self: Any, node: nodes.math_block) -> None:
    formula = mathml(node.astext(), "block")
    self.body.append(f'<div class="math-block" tabindex="0">{formula}</div>\n')
    raise nodes.SkipNode


def _write_font(app: Any, exception: Exception | None) -> None:
    if exception is None and app.builder.format == "html":
        (Path(app.outdir) / "_static" / "math.woff").write_bytes(formulas.font())


def setup(app: Any) -> dict[str, Any]:
    """Register the renderer; ``html_math_renderer = "mathml"`` chooses it."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.connect("build-finished", _write_font)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
