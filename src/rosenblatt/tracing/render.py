"""A document as text for a terminal, as Markdown, as LaTeX and as HTML."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence

from rosenblatt.tracing.words import Block, Fold, Heading, Item, Line, Math, Paragraph

_TEX_MATH = {
    "·": r" \cdot ", "←": r"\leftarrow", "≤": r"\le", "≥": r"\ge", "Σ": r"\sum", "η": r"\eta",
    "γ": r"\gamma", "δ": r"\delta", "α": r"\alpha", "‖": r"\|", "²": "^2", "√": r"\sqrt",
}  # fmt: skip
_TEX_TEXT = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip
_MARKDOWN_TEXT = {sign: f"\\{sign}" for sign in "\\`*_[]<>|$#"}

_STYLE = """
.rosenblatt-trace { font: 14px/1.5 system-ui, sans-serif; color-scheme: light dark; }
.rosenblatt-trace .m { font-family: "STIX Two Math", "Cambria Math", "Latin Modern Math", serif;
  font-size: 1.06em; white-space: nowrap; }
.rosenblatt-trace .step { border-left: 4px solid #0072b2; margin: .5em 0; padding: 0 0 0 .8em;
  overflow-x: auto; }
.rosenblatt-trace .step.mistake { border-left-color: #d55e00; }
.rosenblatt-trace table { border-collapse: collapse; margin: .6em 0; display: block;
  overflow-x: auto; }
.rosenblatt-trace th, .rosenblatt-trace td { padding: .2em .7em; text-align: right;
  border-bottom: 1px solid color-mix(in srgb, currentColor 20%, transparent); }
.rosenblatt-trace summary { cursor: pointer; padding: .2em .7em; }
.rosenblatt-trace tr.mistake td { background: color-mix(in srgb, #d55e00 14%, transparent); }
""".strip()


def text(blocks: Sequence[Block]) -> str:
    """Plain text, aligned for a fixed-width font."""
    return _document(blocks, _text_block)


def markdown(blocks: Sequence[Block]) -> str:
    """Markdown with tables and formulas between dollar signs."""
    return _document(blocks, _markdown_block)


def latex(blocks: Sequence[Block]) -> str:
    """A LaTeX fragment that needs no package."""
    return _document(blocks, _latex_block)


def html_page(blocks: Sequence[Block]) -> str:
    """One HTML element with its own style, for a notebook or a page."""
    body = _document(blocks, _html_block)
    return f'<div class="rosenblatt-trace"><style>{_STYLE}</style>\n{body}</div>\n'


def _document(blocks: Sequence[Block], write: Callable[[Block], str]) -> str:
    return "\n".join(write(block) for block in blocks)


def _text_line(line: Line) -> str:
    return "".join(line)


def _text_block(block: Block) -> str:
    if isinstance(block, Fold):
        return _text_block(block.table)
    if isinstance(block, Heading):
        return f"{block.text}\n{'-' * len(block.text)}"
    if isinstance(block, Paragraph):
        return f"{_text_line(block.line)}\n"
    if isinstance(block, Item):
        mark = "✗" if block.mistake else "✓"
        lines = "".join(f"      {_text_line(line)}\n" for line in block.lines)
        return f"{block.number:>3}. {mark} {_text_line(block.title)}\n{lines}"
    cells = [[_text_line(cell) for cell in row] for row in (block.header, *block.rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    written = [
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
    return "\n".join([written[0], "  ".join("-" * width for width in widths), *written[1:], ""])


def _markdown_block(block: Block) -> str:
    if isinstance(block, Fold):
        return _markdown_block(block.table)
    if isinstance(block, Heading):
        return f"## {_escape(block.text, _MARKDOWN_TEXT)}\n"
    if isinstance(block, Paragraph):
        return f"{_set(block.line, _MARKDOWN_TEXT)}\n"
    if isinstance(block, Item):
        lines = "".join(f"    - {_set(line, _MARKDOWN_TEXT)}\n" for line in block.lines)
        return f"{block.number}. {_set(block.title, _MARKDOWN_TEXT)}\n{lines}"
    rows = [
        " | ".join(_set(cell, _MARKDOWN_TEXT) for cell in row)
        for row in (block.header, *block.rows)
    ]
    rule = " | ".join("---:" for _ in block.header)
    return "\n".join(f"| {row} |" for row in (rows[0], rule, *rows[1:])) + "\n"


def _latex_block(block: Block) -> str:
    if isinstance(block, Fold):
        return _latex_block(block.table)
    if isinstance(block, Heading):
        return f"\\subsection*{{{_escape(block.text, _TEX_TEXT)}}}\n"
    if isinstance(block, Paragraph):
        return f"{_set(block.line, _TEX_TEXT)}\n"
    if isinstance(block, Item):
        lines = "".join(f"  \\item {_set(line, _TEX_TEXT)}\n" for line in block.lines)
        head = f"\\paragraph{{{block.number}.}} {_set(block.title, _TEX_TEXT)}\n"
        return f"{head}\\begin{{itemize}}\n{lines}\\end{{itemize}}\n"
    rows = [
        " & ".join(_set(cell, _TEX_TEXT) for cell in row) for row in (block.header, *block.rows)
    ]
    body = " \\\\\n".join(
        [f"{rows[0]} \\\\ \\hline\n{rows[1]}" if rows[1:] else rows[0], *rows[2:]]
    )
    return f"\\begin{{tabular}}{{{'r' * len(block.header)}}}\n{body} \\\\\n\\end{{tabular}}\n"


def _html_line(line: Line) -> str:
    return "".join(
        f'<span class="m">{html.escape(piece)}</span>'
        if isinstance(piece, Math)
        else html.escape(piece)
        for piece in line
    )


def _html_block(block: Block) -> str:
    if isinstance(block, Fold):
        return (
            f"<details><summary>{html.escape(block.summary)}</summary>"
            f"{_html_block(block.table)}</details>"
        )
    if isinstance(block, Heading):
        return f"<h3>{html.escape(block.text)}</h3>"
    if isinstance(block, Paragraph):
        return f"<p>{_html_line(block.line)}</p>"
    if isinstance(block, Item):
        lines = "<br>".join(_html_line(line) for line in block.lines)
        kind = "step mistake" if block.mistake else "step"
        head = f"<strong>{block.number}.</strong> {_html_line(block.title)}"
        return f'<div class="{kind}">{head}<br>{lines}</div>'
    header = "".join(f"<th>{_html_line(cell)}</th>" for cell in block.header)
    rows = "".join(
        f"<tr{' class=mistake' if i in block.marked else ''}>"
        + "".join(f"<td>{_html_line(cell)}</td>" for cell in row)
        + "</tr>"
        for i, row in enumerate(block.rows)
    )
    return f"<table><thead><tr>{header}</tr></thead><tbody>{rows}</tbody></table>"


def _set(line: Line, escapes: dict[str, str]) -> str:
    """A line with its formulas between dollar signs and its text escaped."""
    return "".join(
        _dollars(piece) if isinstance(piece, Math) else _escape(piece, escapes) for piece in line
    )


def _dollars(formula: str) -> str:
    """A formula in TeX notation between dollar signs, surrounding spaces kept outside."""
    bare = formula.strip()
    before, after = formula.split(bare) if formula.count(bare) == 1 else ("", "")
    return f"{before}${' '.join(_escape(bare, _TEX_MATH).split())}${after}"


def _escape(piece: str, table: dict[str, str]) -> str:
    return "".join(table.get(sign, sign) for sign in piece)
