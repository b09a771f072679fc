"""What tests of the GPU share: a stand-in for a CUDA device."""

import pytest

from rosenblatt.gpu import arrays, estimators, linear, many
from tests.gpu.standin import StandIn


@pytest.fixture
def standin(monkeypatch):
    device = StandIn()
    for module in (arrays, estimators, linear, many):
        monkeypatch.setattr(module, "current_device", lambda: device)
    return device
