"""Every chapter runs, code and commands, and gives the numbers of the notes."""

import re

import pytest

from rosenblatt.cli.course import run_command
from rosenblatt.course.cells import execute
from rosenblatt.course.site import chapters

pytest.importorskip("matplotlib")

CHAPTERS = sorted(path.stem for path in chapters().glob("*.md"))


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder, pages = tmp_path_factory.mktemp("figures"), {}

    def run(name):
        if name not in pages:
            source = (chapters() / f"{name}.md").read_text("utf-8")
            pages[name] = execute(source, folder, prefix=name, link="f", command=run_command)
        return pages[name]

    return run


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_runs(done, name):
    assert done(name)


@pytest.mark.parametrize("name", CHAPTERS)
def test_links_between_chapters_lead_somewhere(name):
    text = (chapters() / f"{name}.md").read_text("utf-8")
    for target in re.findall(r"\]\(([\w-]+)\.md", text):
        assert target in CHAPTERS, target
