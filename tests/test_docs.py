"""The Python blocks of the README and the guides run when pasted, page by page."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "docs/index.md", *sorted((ROOT / "docs/guide").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def _blocks(page):
    return BLOCK.findall(page.read_text("utf-8"))


@pytest.mark.parametrize("page", [p for p in PAGES if _blocks(p)], ids=lambda p: p.stem)
def test_the_blocks_of_a_page_run_in_order(page, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    pytest.importorskip("panel")
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    for block in _blocks(page):
        exec(compile(block, str(page), "exec"), namespace)
