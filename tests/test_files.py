"""Files are whole or not there."""

import stat

import pytest

from rosenblatt.files import replacing


def test_a_failure_leaves_the_old_file_and_no_debris(tmp_path):
    target = tmp_path / "model"
    target.write_text("old")

    def fail():
        with replacing(target, "w") as file:
            file.write("half")
            raise RuntimeError("disk full")

    with pytest.raises(RuntimeError, match="disk full"):
        fail()
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_success_replaces_the_file_and_keeps_its_permissions(tmp_path):
    target = tmp_path / "model"
    target.write_text("old")
    target.chmod(0o640)
    with replacing(target, "wb") as file:
        file.write(b"new")
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path):
    with replacing(tmp_path / "a", "w") as file:
        file.write("1")
    (tmp_path / "b").write_text("1")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode
