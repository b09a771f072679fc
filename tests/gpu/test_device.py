"""What is missing for a CUDA device is said in one sentence."""

import sys
import types

import pytest

from rosenblatt.gpu import device


@pytest.fixture
def fake_cupy(monkeypatch):
    device._cupy.cache_clear()
    module = types.ModuleType("cupy")
    monkeypatch.setitem(sys.modules, "cupy", module)
    yield module
    device._cupy.cache_clear()


def with_count(module, count):
    module.cuda = types.SimpleNamespace(runtime=types.SimpleNamespace(getDeviceCount=count))


def test_no_driver_says_to_install_one(fake_cupy):
    def count():
        raise RuntimeError("cudaErrorInsufficientDriver: CUDA driver version is insufficient")

    with_count(fake_cupy, count)
    with pytest.raises(device.DeviceError, match="install a newer driver"):
        device.usable_cupy()
    assert not device.is_usable()


def test_no_device_says_where_to_look(fake_cupy):
    with_count(fake_cupy, lambda: 0)
    with pytest.raises(device.DeviceError, match="CUDA_VISIBLE_DEVICES"):
        device.usable_cupy()


def test_a_cupy_that_does_not_load_names_the_builds(monkeypatch):
    def fail(name):
        raise ImportError("=====\nFailed to import CuPy.\nlibcudart.so.12: cannot open")

    device._cupy.cache_clear()
    monkeypatch.setattr(device, "import_module", fail)
    with pytest.raises(device.DeviceError, match=r"Failed to import CuPy\): .* cupy-cuda12x or"):
        device.usable_cupy()
    device._cupy.cache_clear()


def test_a_part_of_cupy_that_is_missing_is_named(monkeypatch):
    def fail(name):
        raise ModuleNotFoundError("No module named 'cuda'", name="cuda")

    device._cupy.cache_clear()
    monkeypatch.setattr(device, "import_module", fail)
    with pytest.raises(device.DeviceError, match="as cuda is missing"):
        device.usable_cupy()
    device._cupy.cache_clear()


def test_a_library_that_is_missing_is_named():
    with (
        pytest.raises(device.DeviceError, match=r"cupy-cuda13x\[ctk\]"),
        device.translated_errors(),
    ):
        raise ImportError('Failure finding "libcublasLt.so.13"')


def test_errors_of_others_pass():
    with pytest.raises(ValueError, match="mine"), device.translated_errors():
        raise ValueError("mine")
