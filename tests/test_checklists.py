"""What CONTRIBUTING.md lists for a new rule, file format or lift is there for every one."""

from __future__ import annotations

from pathlib import Path

import rosenblatt
from rosenblatt.data.formats import FORMATS
from rosenblatt.jobs.options import TrainOptions
from rosenblatt.lifts.registry import LIFTS
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


def test_every_lift_is_in_the_guide_and_those_of_tables_are_options_of_train():
    guide = (ROOT / "docs/guide/lifting.md").read_text().lower()
    named = {r.name for r in LIFTS.values() if r.name in guide or r.title.lower() in guide}
    assert not missing(LIFTS, {"docs/guide/lifting.md": named})
    option = TrainOptions.__dataclass_fields__["lift"].metadata["option"]
    of_tables = [record.name for record in LIFTS.values() if record.of_tables]
    choices = {"TrainOptions.lift": option.choices, "the help of --lift": option.help}
    assert not missing(of_tables, choices)
    assert {*option.choices} == {"auto", *of_tables}
