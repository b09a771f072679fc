"""Sources of batches: files of any format and size, their columns, and the on-disk cache."""
