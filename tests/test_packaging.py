"""What is said about the package agrees with the package."""

import re
import tomllib
from pathlib import Path

import rosenblatt

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def test_the_citation_names_this_version():
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert re.search(r"^version: (.*)$", citation, re.MULTILINE)[1] == rosenblatt.__version__
    assert PROJECT["project"]["license"] in citation


def test_the_wheel_takes_every_chapter_of_the_course():
    shipped = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    chapters = sorted(path.name for path in (ROOT / "docs" / "course").glob("*.md"))
    assert sorted(Path(source).name for source in shipped) == chapters
    for source, target in shipped.items():
        assert target == f"rosenblatt/course/chapters/{Path(source).name}"


def test_the_platform_page_says_what_the_metadata_says():
    page = (ROOT / "docs" / "about" / "platforms.md").read_text("utf-8")
    minimum = PROJECT["project"]["requires-python"].removeprefix(">=")
    assert f"| Python | {minimum} |" in page
    assert f"Programming Language :: Python :: {minimum}" in PROJECT["project"]["classifiers"]


def test_links_in_the_readme_lead_to_files():
    text = (ROOT / "README.md").read_text("utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (ROOT / target).is_file(), target
