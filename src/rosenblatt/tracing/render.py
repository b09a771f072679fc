"""A document as text for a terminal, as Markdown, as LaTeX and as HTML."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from typing import Any

from rosenblatt.errors import visible
from rosenblatt.tracing.words import Block, Heading, Item, Line, Math, Paragraph, TraceTable

_TEX_MATH = {
    "·": r" \cdot ", "←": r"\leftarrow ", "≤": r"\le ", "≥": r"\ge ", "Σ": r"\sum ", "η": r"\eta ",
    "γ": r"\gamma ", "δ": r"\delta ", "α": r"\alpha ", "β": r"\beta ", "σ": r"\sigma ",
    "τ": r"\tau ", "ℓ": r"\ell ", "‖": r"\| ", "²": "^2", "₀": "_0", "√": r"\sqrt ",
    "max": r"\max", "min": r"\min",
}  # fmt: skip
_TEX_TEXT = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip
_TEX_MINUS = re.compile(r"(?<![\w-])-(?=\d)")
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
.rosenblatt-trace .words { text-align: left; }
.rosenblatt-trace summary { cursor: pointer; padding: .2em .7em; }
.rosenblatt-trace tr.mistake td { background: color-mix(in srgb, #d55e00 14%, transparent); }
""".strip()


class Printed:
    """Printing in four formats; `_document` builds the blocks from the options."""

    def _document(self, *args: Any, **options: Any) -> Sequence[Block]:
        raise NotImplementedError

    def to_text(self, *args: Any, **options: Any) -> str:
        """Text for a terminal, aligned for a fixed-width font."""
        return _Text().document(self._document(*args, **options))

    def to_markdown(self, *args: Any, **options: Any) -> str:
        """Markdown with tables and formulas between dollar signs."""
        return _Markdown().document(self._document(*args, **options))

    def to_latex(self, *args: Any, **options: Any) -> str:
        """A LaTeX fragment that needs no package; ``rosenblatt trace`` writes a whole document."""
        return _Latex().document(self._document(*args, **options))

    def to_html(self, *args: Any, **options: Any) -> str:
        """One HTML element with its own style, for a notebook or a page."""
        return html_page(self._document(*args, **options))

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return self.to_html()


def html_page(blocks: Sequence[Block]) -> str:
    """One HTML element with its own style, for a notebook or a page."""
    body = _Html().document(blocks)
    return f'<div class="rosenblatt-trace"><style>{_STYLE}</style>\n{body}</div>\n'


def html_document(element: str, title: str) -> str:
    """A page of its own around an element, light or dark as the browser is."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{html.escape(visible(title))}</title></head>\n<body>{element}</body></html>\n"
    )


def latex_document(fragment: str) -> str:
    """A document that pdflatex and lualatex compile, around a fragment; tables go over pages."""
    return (
        "\\documentclass{article}\n\\usepackage{iftex,longtable}\n"
        "\\usepackage[margin=2cm]{geometry}\n\\ifPDFTeX\\usepackage[T1]{fontenc}\\fi\n"
        "\\setlength{\\LTleft}{0pt}\n\\begin{document}\n\\raggedright\n"
        f"{fragment.replace('{tabular}', '{longtable}')}\\end{{document}}\n"
    )


class _Text:
    """Plain text; the base of the other formats."""

    def document(self, blocks: Sequence[Block]) -> str:
        return "\n".join(map(self.block, blocks))

    def block(self, block: Block) -> str:
        if isinstance(block, Heading):
            return self.heading(visible(block.text))
        if isinstance(block, Paragraph):
            return self.paragraph(self.shown(block.line))
        if isinstance(block, Item):
            return self.item(block, self.shown(block.title), [self.shown(x) for x in block.lines])
        return self.table(
            block, [[self.shown(cell) for cell in row] for row in (block.header, *block.rows)]
        )

    def shown(self, line: Line) -> str:
        """A line in this format, the control characters of names escaped."""
        return self.line([type(piece)(visible(piece)) for piece in line])

    def line(self, line: Line) -> str:
        return "".join(line)

    def heading(self, text: str) -> str:
        return f"{text}\n{'-' * len(text)}"

    def paragraph(self, line: str) -> str:
        return f"{line}\n"

    def item(self, item: Item, title: str, lines: list[str]) -> str:
        mark = "✗" if item.mistake else "✓"
        return f"{item.number:>3}. {mark} {title}\n" + "".join(f"      {x}\n" for x in lines)

    def table(self, table: TraceTable, cells: list[list[str]]) -> str:
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        head, *rows = [
            "  ".join(
                cell.ljust(width) if words else cell.rjust(width)
                for words, cell, width in zip(table.has_words, row, widths, strict=True)
            )
            for row in cells
        ]
        rule = "  ".join("-" * width for width in widths)
        return "\n".join([*map(str.rstrip, [head, rule, *rows]), ""])


class _Markdown(_Text):
    def line(self, line: Line) -> str:
        return _set(line, lambda text: _escape(text, _MARKDOWN_TEXT))

    def heading(self, text: str) -> str:
        return f"## {_escape(text, _MARKDOWN_TEXT)}\n"

    def item(self, item: Item, title: str, lines: list[str]) -> str:
        return f"{item.number}. {title}\n" + "".join(f"    - {x}\n" for x in lines)

    def table(self, table: TraceTable, cells: list[list[str]]) -> str:
        head, *rows = [" | ".join(row) for row in cells]
        rule = " | ".join(":---" if words else "---:" for words in table.has_words)
        return "\n".join(f"| {row} |" for row in (head, rule, *rows)) + "\n"


class _Latex(_Text):
    def line(self, line: Line) -> str:
        # The minus of a number in a sentence is as long as in a formula.
        return _set(line, lambda text: _TEX_MINUS.sub("$-$", _escape(text, _TEX_TEXT)))

    def heading(self, text: str) -> str:
        return f"\\subsection*{{{_escape(text, _TEX_TEXT)}}}\n"

    def item(self, item: Item, title: str, lines: list[str]) -> str:
        body = "".join(f"  \\item {x}\n" for x in lines)
        head = f"\\paragraph{{{item.number}.}} {title}\n"
        return f"{head}\\begin{{itemize}}\n{body}\\end{{itemize}}\n"

    def table(self, table: TraceTable, cells: list[list[str]]) -> str:
        head, *rows = [" & ".join(row) for row in cells]
        body = " \\\\\n".join([f"{head} \\\\ \\hline\n{rows[0]}", *rows[1:]] if rows else [head])
        columns = "".join("l" if words else "r" for words in table.has_words)
        return f"\\begin{{tabular}}{{{columns}}}\n{body} \\\\\n\\end{{tabular}}\n"


class _Html(_Text):
    def line(self, line: Line) -> str:
        pieces = [(html.escape(piece), isinstance(piece, Math)) for piece in line]
        return "".join(f'<span class="m">{x}</span>' if formula else x for x, formula in pieces)

    def heading(self, text: str) -> str:
        return f"<h3>{html.escape(text)}</h3>"

    def paragraph(self, line: str) -> str:
        return f"<p>{line}</p>"

    def item(self, item: Item, title: str, lines: list[str]) -> str:
        kind = "step mistake" if item.mistake else "step"
        head = f"<strong>{item.number}.</strong> {title}"
        return f'<div class="{kind}">{head}<br>{"<br>".join(lines)}</div>'

    def table(self, table: TraceTable, cells: list[list[str]]) -> str:
        kinds = [" class=words" if words else "" for words in table.has_words]
        header = "".join(map("<th{}>{}</th>".format, kinds, cells[0]))
        rows = "".join(
            f"<tr{' class=mistake' if i in table.marked else ''}>"
            + "".join(map("<td{}>{}</td>".format, kinds, row))
            + "</tr>"
            for i, row in enumerate(cells[1:])
        )
        written = f"<table><thead><tr>{header}</tr></thead><tbody>{rows}</tbody></table>"
        if not table.summary:
            return written
        return f"<details><summary>{html.escape(table.summary)}</summary>{written}</details>"


def _set(line: Line, words: Callable[[str], str]) -> str:
    """A line with its formulas between dollar signs, and its text as a function writes it."""
    return "".join(_dollars(piece) if isinstance(piece, Math) else words(piece) for piece in line)


def _dollars(formula: str) -> str:
    """A formula in TeX notation between dollar signs, surrounding spaces kept outside."""
    bare = formula.strip()
    before, after = formula.split(bare) if formula.count(bare) == 1 else ("", "")
    return f"{before}${' '.join(_escape(bare, _TEX_MATH).split())}${after}"


def _escape(piece: str, table: dict[str, str]) -> str:
    return re.sub("|".join(map(re.escape, table)), lambda match: table[match[0]], piece)
