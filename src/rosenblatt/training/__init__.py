"""The loop over epochs: order, stopping, what to keep, callbacks. Knows no file and no kernel."""

from rosenblatt.training.history import Epoch, History
from rosenblatt.training.loop import feed, idle, kept, run
from rosenblatt.training.plan import Plan
from rosenblatt.training.state import Snapshot, State

__all__ = ["Epoch", "History", "Plan", "Snapshot", "State", "feed", "idle", "kept", "run"]
