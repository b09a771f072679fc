"""What tests of estimators share: a stand-in for a CUDA device."""

import pytest
from tests.gpu.standin import StandIn

from rosenblatt.estimators import _device


@pytest.fixture
def standin(monkeypatch):
    device = StandIn()
    monkeypatch.setattr(_device, "current_device", lambda: device)
    return device
