"""What all tests share: one profile of Hypothesis, quick and the same every time."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "suite",
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("suite")

os.environ.setdefault("ROSENBLATT_QUIET", "1")  # do not say that kernels are compiled
