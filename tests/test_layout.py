"""Where the tests of a source file are."""

import importlib
import re
import tomllib
from fnmatch import fnmatch
from itertools import product
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "src" / "rosenblatt"
COVERED = tomllib.loads((TESTS / "layout.toml").read_text())["covered"]


def _alternatives(pattern):
    """The patterns that braces stand for: ``a/{b,c}.py`` is ``a/b.py`` and ``a/c.py``."""
    parts = [part.split(",") for part in re.split(r"[{}]", pattern)]
    return ["".join(chosen) for chosen in product(*parts)]


def _tests_of(file):
    """The test files of a source file that exist: its mirror, and those listed for it."""
    mirror = file.parent / f"test_{file.stem.lstrip('_')}.py"
    listed = [
        test
        for pattern, tests in COVERED.items()
        if any(fnmatch(file.as_posix(), one) for one in _alternatives(pattern))
        for test in tests
    ]
    return [test for test in (mirror, *listed) if (TESTS / test).is_file()]


def test_braces_in_the_list_stand_for_alternatives():
    assert _alternatives("a/{b,c}.py") == ["a/b.py", "a/c.py"]
    assert _alternatives("a.py") == ["a.py"]


def test_each_source_file_has_a_test_file_or_is_listed_with_the_tests_that_cover_it():
    files = sorted(file.relative_to(PACKAGE) for file in PACKAGE.rglob("*.py"))
    missing = [
        file.as_posix() for file in files if not file.name.startswith("__") and not _tests_of(file)
    ]
    assert not missing, f"write tests/.../test_NAME.py or add to tests/layout.toml: {missing}"


def test_the_list_names_files_that_exist():
    files = [file.relative_to(PACKAGE).as_posix() for file in PACKAGE.rglob("*.py")]
    stale = [
        name
        for pattern in COVERED
        for name in _alternatives(pattern)
        if not any(fnmatch(file, name) for file in files)
    ]
    missing = [test for tests in COVERED.values() for test in tests if not (TESTS / test).is_file()]
    assert not stale + missing, f"remove from tests/layout.toml: {stale + missing}"


def test_the_package_says_that_it_is_typed():
    assert (PACKAGE / "py.typed").is_file()


def test_names_are_imported_on_first_use_and_unknown_ones_are_refused():
    package = importlib.import_module("rosenblatt")
    assert set(package.__all__) == {*dir(package), "__version__"}
    assert package.DataError is importlib.import_module("rosenblatt.errors").DataError
    with pytest.raises(AttributeError, match="no_such_name"):
        package.no_such_name  # noqa: B018
