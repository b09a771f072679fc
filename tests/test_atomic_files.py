"""Files are whole or not there."""

import os
import stat

import pytest

from rosenblatt.atomic_files import acquire_lock, atomic_write


def test_a_failure_leaves_the_old_file_and_no_debris(tmp_path):
    target = tmp_path / "model"
    target.write_text("old")

    def fail():
        with atomic_write(target, "w") as file:
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
    with atomic_write(target, "wb") as file:
        file.write(b"new")
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path):
    with atomic_write(tmp_path / "a", "w") as file:
        file.write("1")
    (tmp_path / "b").write_text("1")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode


@pytest.mark.skipif(os.name == "nt", reason="Windows cannot sync folders")
def test_the_file_and_its_name_are_on_the_disk_when_the_block_is_left(tmp_path, monkeypatch):
    synced, sync = [], os.fsync

    def noted(descriptor):
        synced.append((os.fstat(descriptor).st_ino, (tmp_path / "a").exists()))
        sync(descriptor)

    monkeypatch.setattr("rosenblatt.atomic_files.os.fsync", noted)
    with atomic_write(tmp_path / "a") as file:
        file.write(b"1")
    assert synced == [
        ((tmp_path / "a").stat().st_ino, False),
        (tmp_path.stat().st_ino, True),
    ]


def test_a_full_disk_names_the_file_that_was_to_be_written(tmp_path, monkeypatch):
    def is_full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rosenblatt.atomic_files.os.fsync", is_full)

    def write():
        with atomic_write(tmp_path / "a") as file:
            file.write(b"1")

    with pytest.raises(OSError, match=r"No space left on device: '.*/a'"):
        write()
    with (
        pytest.raises(FileNotFoundError, match=r"'.*/missing/a'"),
        atomic_write(tmp_path / "missing/a"),
    ):
        pass


def test_a_lock_has_one_holder_and_ends_with_it(tmp_path):
    held = acquire_lock(tmp_path / "lock")
    assert acquire_lock(tmp_path / "lock") is None
    (tmp_path / "lock").unlink()
    with acquire_lock(tmp_path / "lock"):
        held.close()
        assert acquire_lock(tmp_path / "lock") is None
