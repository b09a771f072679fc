"""Files are whole or not there."""

import os
import stat

import pytest

from rosenblatt.atomic_files import (
    acquire_lock,
    atomic_write,
    check_output,
    read_private,
    write_private,
)


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


@pytest.mark.skipif(os.name == "nt", reason="Windows has no umask, and links need a privilege")
class TestPermissionsAndLinks:
    @pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
    def test_a_new_file_obeys_the_umask_which_is_never_changed(self, tmp_path, monkeypatch, mask):
        before = os.umask(mask)
        try:
            with monkeypatch.context() as patched:
                patched.setattr(os, "umask", lambda mask: pytest.fail("other threads see this"))
                with atomic_write(tmp_path / "a") as file:
                    file.write(b"1")
        finally:
            os.umask(before)
        assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o666 & ~mask

    def test_machine_code_is_never_open_to_others(self, tmp_path):
        before = os.umask(0)
        try:
            with atomic_write(tmp_path / "a", permissions=0o600) as file:
                assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == 0o600
        finally:
            os.umask(before)

    @pytest.mark.parametrize("is_there", [True, False])
    def test_a_link_stays_and_its_target_is_replaced(self, tmp_path, is_there):
        (tmp_path / "far").mkdir()
        target, link = tmp_path / "far" / "v1", tmp_path / "latest"
        link.symlink_to(target.relative_to(tmp_path))
        if is_there:
            target.write_text("old")
        check_output(link)
        with atomic_write(link, "w") as file:
            file.write("new")
        assert link.is_symlink()
        assert target.read_text() == "new"
        assert [path.name for path in (tmp_path / "far").iterdir()] == ["v1"]


@pytest.mark.parametrize("place", ["name", "folder"])
def test_a_private_file_moved_elsewhere_is_not_trusted(tmp_path, place):
    path = tmp_path / "code-1" / "a"
    write_private(path, b"mine", "code-*")
    assert read_private(path) == b"mine"
    moved = path.with_name("b") if place == "name" else tmp_path / "code-2" / "a"
    moved.parent.mkdir(mode=0o700, exist_ok=True)
    path.rename(moved)
    assert read_private(moved) is None


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
