"""One file a claim; each prints ratios against peers measured in the same run."""
