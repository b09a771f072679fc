"""The store of rows: in memory, on disk, restored, visited in every order."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import rosenblatt.data.store as store_module
from rosenblatt.data.store import Store
from rosenblatt.errors import ModelFormatError
from rosenblatt.kernels.packing import Numbering
from rosenblatt.kernels.text import Rows


def blocks(count=40, seed=0):
    generator = np.random.default_rng(seed)
    for _ in range(count):
        lengths = generator.integers(0, 9, generator.integers(1, 12))
        indptr = np.append(0, np.cumsum(lengths)).astype(np.uint64)
        n = int(indptr[-1])
        values = generator.integers(1, 3, n).astype(np.float32)
        rows = Rows(indptr, generator.integers(0, 99, n, dtype=np.uint32), values)
        yield rows, generator.integers(0, 3, len(lengths))


# Every column has its own number as its place; some of these are near, some far.
SAME = Numbering(1 << 17, np.arange(99 * 700, dtype=np.uint32))


def put(store, rows, codes, weights=None):
    room = store.reserve(len(codes), len(rows.indices))
    packed = SAME.pack(rows._replace(indices=rows.indices * np.uint32(700)), room)
    store.commit(packed, codes, weights)
    return packed


def filled(store, **options):
    for rows, codes in blocks(**options):
        put(store, rows, codes)
    return store


def same(one, other):
    (rows, codes, omega), (others, other_codes, other_omega) = one.arrays(), other.arrays()
    assert all(np.array_equal(a, b) for a, b in zip(rows, others, strict=True))
    assert np.array_equal(codes, other_codes)
    assert np.array_equal(omega, other_omega)


def test_rows_are_the_same_in_memory_spilled_and_on_disk(tmp_path):
    memory = filled(Store())
    spilled = filled(Store(memory=256))
    assert spilled.on_disk
    assert not memory.on_disk
    same(memory, spilled)
    same(memory, filled(Store(folder=tmp_path)))


def test_a_restored_store_forgets_what_came_after_its_summary(tmp_path):
    store = filled(Store(folder=tmp_path), count=10)
    store.flush()
    summary = store.summary()
    filled(store, seed=1)
    store.flush()
    store.close()
    restored = Store.restored(tmp_path, summary)
    same(restored, filled(Store(), count=10))
    filled(restored, seed=2)
    expected = filled(filled(Store(), count=10), seed=2)
    same(restored, expected)


@pytest.mark.parametrize("memory", [1 << 20, 64])
@pytest.mark.parametrize("seed", [None, [1, 2]])
def test_an_epoch_visits_every_row_once(memory, seed, monkeypatch):
    monkeypatch.setattr(store_module, "GROUP_BYTES", 400)
    store = filled(Store(memory=memory))
    orders = list(store.orders(seed))
    assert (len(orders) > 1) == (memory == 64)
    assert sorted(np.concatenate(orders).tolist()) == list(range(len(store)))
    again = list(store.orders(seed))
    assert all(np.array_equal(a, b) for a, b in zip(orders, again, strict=True))
    if seed is None:
        assert np.concatenate(orders).tolist() == list(range(len(store)))


def test_weights_of_rows_are_kept(tmp_path):
    rows = Rows(np.array([0, 1, 2], np.uint64), np.array([5, 6], np.uint32), np.ones(2, "f4"))
    for store in (Store(), Store(folder=tmp_path)):
        put(store, rows, np.array([0, 1]), np.array([2.0, 0.5]))
        put(store, rows, np.array([0, 1]))
        assert store.arrays()[2].tolist() == [2.0, 0.5, 1.0, 1.0]


def test_temporary_files_disappear_with_the_store():
    store = filled(Store(memory=64))
    folder = store.folder
    assert folder.exists()
    del store
    assert not folder.exists()


def test_rows_that_are_kept_do_not_move_while_they_fit_into_memory():
    store = Store(1 << 20)
    held = [(packed, packed.near.copy()) for packed in (put(store, *block) for block in blocks())]
    for packed, near in held:
        assert np.array_equal(packed.near, near)
        assert not len(near) or np.shares_memory(packed.near, store.arrays()[0].near)


def test_the_size_is_that_of_entries_and_rows():
    store = filled(Store())
    (near, far, columns, values, bases, pointers), codes, _ = store.arrays()
    assert len(near) > len(far) > 0
    entries = near.nbytes + far.nbytes + columns.nbytes + values.nbytes
    assert store.size == entries + bases.nbytes + pointers[1:].nbytes + codes.nbytes + 8 * len(
        codes
    )


def test_of_rows_on_disk_nothing_but_the_edges_of_blocks_stays_in_memory(tmp_path):
    store = filled(Store(memory=64))
    assert all(len(array.array) <= 3 for array in store._rows.values())
    assert all(array.base is not None for array in store.arrays()[0])  # of a memory map


def test_weights_that_turn_up_late_leave_earlier_rows_at_one():
    store = Store()
    rows = Rows(np.array([0, 1], np.uint64), np.array([0], np.uint32), np.ones(1, "f4"))
    put(store, rows, np.array([0]))
    assert store.arrays()[2].tolist() == [1.0]
    put(store, rows, np.array([1]), np.array([3.0]))
    put(store, rows, np.array([1]))
    assert store.arrays()[2].tolist() == [1.0, 3.0, 1.0]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_names_the_file(tmp_path):
    (tmp_path / "values").symlink_to("/dev/full")
    store = Store(folder=tmp_path)
    with pytest.raises(OSError, match=r"No space left on device: '.*values'"):
        filled(store).flush()
    store.close()


def test_a_short_file_is_refused_and_not_extended(tmp_path):
    store = filled(Store(folder=tmp_path), count=5)
    store.flush()
    summary = store.summary()
    store.close()
    size = (tmp_path / "codes").stat().st_size
    os.truncate(tmp_path / "codes", size // 2)
    with pytest.raises(ModelFormatError, match=rf"codes is damaged: it has {size // 2} bytes"):
        Store.restored(tmp_path, summary)
    assert (tmp_path / "codes").stat().st_size == size // 2


def test_places_and_classes_beyond_those_there_are_are_refused(tmp_path):
    store = filled(Store(folder=tmp_path), count=5)
    store.flush()
    summary = store.summary()
    store.close()
    with pytest.raises(ModelFormatError, match="a feature beyond the 5"):
        Store.restored(tmp_path, summary, places=5)
    with pytest.raises(ModelFormatError, match="codes is damaged: it names a class beyond the 1"):
        Store.restored(tmp_path, summary, classes=1)
