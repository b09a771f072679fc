"""Sources of batches: files of any format and size, their columns, and the on-disk cache."""

from rosenblatt.data.cached import write_cache
from rosenblatt.data.features import Features
from rosenblatt.data.kinds import Column
from rosenblatt.data.source import Batch, Source, open

__all__ = ["Batch", "Column", "Features", "Source", "open", "write_cache"]
