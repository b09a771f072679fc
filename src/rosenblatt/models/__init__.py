"""What training from files gives: a classifier with its way from raw rows to features."""

from rosenblatt.models.explanation import Explanation
from rosenblatt.models.files import read_model, write_model
from rosenblatt.models.model import Model

__all__ = ["Explanation", "Model", "read_model", "write_model"]
