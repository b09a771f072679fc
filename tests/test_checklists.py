"""What CONTRIBUTING.md lists for a new rule or file format is there for every one."""

from __future__ import annotations

from pathlib import Path

import rosenblatt
from rosenblatt.data.formats import FORMATS
from rosenblatt.jobs.options import TrainOptions
from rosenblatt.rules import registry

ROOT = Path(__file__).parent.parent


def missing(names, places):
    return [
        f"{name} is missing in {place}"
        for name in names
        for place, content in places.items()
        if name not in content
    ]


def test_every_rule_is_public_and_in_the_reference():
    reference = (ROOT / "docs/reference/index.md").read_text()
    places = {"rosenblatt/__init__.py": rosenblatt.__all__, "docs/reference/index.md": reference}
    packaged = {rule.estimator for rule in registry._packaged().values()}  # others register more
    assert not missing(packaged, places)


def test_every_file_format_is_in_the_guide_and_in_the_help():
    option = TrainOptions.__dataclass_fields__["format"].metadata["option"].help
    guide = (ROOT / "docs/guide/files.md").read_text().lower()
    names = [name for name in FORMATS if name not in ("table", "jsonl", "vw")]
    assert not missing(names, {"docs/guide/files.md": guide, "TrainOptions.format": option})
    spelled = {"docs/guide/files.md": guide}
    assert not missing(["json lines", "vowpal wabbit"], spelled)
