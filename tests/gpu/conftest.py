"""What tests of the GPU share: a stand-in for a CUDA device."""

import pytest

from rosenblatt.gpu import device as devices
from rosenblatt.gpu import estimators, linear, many
from tests.gpu.standin import StandIn


@pytest.fixture
def standin(monkeypatch):
    device = StandIn()
    for module in (devices, estimators, linear, many):
        monkeypatch.setattr(module, "current_device", lambda: device)
    return device
