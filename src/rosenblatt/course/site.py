"""Build the chapters as web pages on this machine, to be read without a network."""

from __future__ import annotations

import hashlib
import html
import re
import shutil
import tempfile
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

from rosenblatt import __version__
from rosenblatt.course.cells import Command, execute
from rosenblatt.errors import MissingExtraError
from rosenblatt.lab.recordings import write as write_scenes

ENTRY = "index.html"
_ROLE = re.compile(r"\{(\w+)\}`([^`]+)`")
_DIRECTIVE = re.compile(r"^```\{[\w-]+\}.*?^```\n", re.DOTALL | re.MULTILINE)

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title} · rosenblatt</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><style>{style}</style></head>
<body><nav class="chapters" aria-label="Chapters">{navigation}</nav>
<div class="page"><nav class="contents" aria-label="On this page">{contents}</nav><main>
{body}
</main></div><script>{script}</script></body></html>
"""
_HEADING = re.compile(r'<h2 id="([^"]+)"[^>]*>(.*?)</h2>')


def chapters() -> Path:
    """The folder of the chapters: in the installed package, or in the repository."""
    shipped = Path(str(files("rosenblatt.course"))) / "chapters"
    return shipped if shipped.is_dir() else Path(__file__).parents[3] / "docs" / "course"


def built(folder: Path) -> Path | None:
    """The first page of the course cached in this folder, or None if it is missing or outdated."""
    entry = folder / _key() / ENTRY
    return entry if entry.is_file() else None


def build(
    folder: Path, *, command: Command | None = None, progress: Callable[[str], None] = print
) -> Path:
    """Run the chapters and write them as pages below `folder`; returns the first page.

    The pages appear at once when all are built. `command` runs the commands of the chapters, as
    for :func:`rosenblatt.course.cells.execute`; `progress` is called with a line per chapter.
    """
    render = _renderer()
    sources = sorted(chapters().glob("*.md"), key=lambda path: (path.stem != "index", path.stem))
    if not sources:
        raise FileNotFoundError(f"{chapters()} holds no chapters")
    titles = {path.stem: _title(path.read_text("utf-8")) for path in sources}
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / _key()
    with tempfile.TemporaryDirectory(dir=folder) as unfinished:
        work = Path(unfinished) / "pages"
        for number, source in enumerate(sources, 1):
            progress(f"building {number} of {len(sources)}: {titles[source.stem]}")
            text, figures = source.read_text("utf-8"), work / "figures"
            page = execute(text, figures, prefix=source.stem, link="figures", command=command)
            work.mkdir(exist_ok=True)
            title, body = html.escape(titles[source.stem]), render(_plain(page))
            navigation = _navigation(titles, source.stem)
            whole = _PAGE.format(
                title=title, style=_style(), body=body, navigation=navigation,
                contents=_contents(body), script=_text("copy.js"),
            )  # fmt: skip
            (work / f"{source.stem}.html").write_text(whole, "utf-8")
        write_scenes(work / "scenes")
        from rosenblatt.course.formulas import font

        (work / "math.woff").write_bytes(font())
        shutil.rmtree(target, ignore_errors=True)
        work.replace(target)
    return target / ENTRY


def _style() -> str:
    """The style of the pages, and the colours of code on light and on dark ground."""
    from pygments.formatters import HtmlFormatter

    light, dark = (
        HtmlFormatter(style=name).get_style_defs("code") for name in ("xcode", "github-dark")
    )
    dark = f"@media (prefers-color-scheme: dark) {{ {dark} }}"
    return "\n".join([light, dark, "code { background: none; }", _text("style.css")])


def _text(name: str) -> str:
    return (files("rosenblatt.course") / name).read_text("utf-8")


def _highlighted(code: str, language: str, _: str) -> str:
    """Code as HTML with a span for each coloured word."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name

    if language not in ("python", "console"):
        return html.escape(code)
    lexer = get_lexer_by_name(language, stripnl=False)
    return str(highlight(code, lexer, HtmlFormatter(nowrap=True)))


def _contents(body: str) -> str:
    """Links to the sections of a page."""
    return "".join(f'<a href="#{place}">{title}</a>' for place, title in _HEADING.findall(body))


def _key() -> str:
    """The name of the cached build: a hash of chapters, style and lab, and the version."""
    digest = hashlib.sha256((_style() + _text("copy.js")).encode())
    lab = Path(str(files("rosenblatt.lab")))
    for path in sorted([*chapters().glob("*.md"), *lab.glob("*.py"), *lab.glob("static/*")]):
        digest.update(path.read_bytes())
    return f"{__version__}-{digest.hexdigest()[:12]}"


def _title(page: str) -> str:
    return page.partition("# ")[2].partition("\n")[0].replace("`", "")


def _navigation(titles: dict[str, str], here: str) -> str:
    links = []
    for name, title in titles.items():
        text = html.escape(title)
        links.append(f"<b>{text}</b>" if name == here else f'<a href="{name}.html">{text}</a>')
    return "".join(f"<span>{link}</span>" for link in links)


def _plain(page: str) -> str:
    """The page without Sphinx directives and roles."""

    def role(match: re.Match[str]) -> str:
        kind, content = match.groups()
        words, _, target = content.rstrip(">").rpartition(" <")
        if kind == "doc":
            return words or f"*{target.rpartition('/')[2]}* (documentation)"
        name = target.removeprefix("~") if not content.startswith("~") else target.split(".")[-1]
        return f"`{words or name}`"

    page = _DIRECTIVE.sub("", page)
    page = _ROLE.sub(role, page)
    page = re.sub(r"\]\(([\w-]+)\.md(#[\w-]+)?\)", r"](\1.html\2)", page)
    # Pages outside the course exist in the documentation only.
    return re.sub(r"\[([^\]]+)\]\(\.\./[^)]+\)", r"\1", page)


def _renderer() -> Callable[[str], str]:
    try:
        from markdown_it import MarkdownIt
        from mdit_py_plugins.anchors import anchors_plugin
        from mdit_py_plugins.dollarmath import dollarmath_plugin

        from rosenblatt.course.formulas import mathml
    except ImportError:
        raise MissingExtraError("the course", "course") from None

    def formula(tex: str, options: dict[str, Any]) -> str:
        display = "block" if options.get("display_mode") else "inline"
        return mathml(tex, display)

    markdown = MarkdownIt("commonmark", {"html": True, "highlight": _highlighted}).enable("table")
    markdown.use(dollarmath_plugin, renderer=formula, allow_space=False)
    markdown.use(anchors_plugin, max_level=3)
    return lambda page: str(markdown.render(page))
