"""Reading files: svmlight against scikit-learn, tables against pyarrow's own readers.

    python benchmarks/bench_parsing.py

svmlight: the bytes of a file to CSR arrays, by one thread, against
`sklearn.datasets.load_svmlight_file`. Tables: the IMDB reviews as CSV, JSON lines and Parquet; ours
to checked columns with line numbers (without hashing), pyarrow's to a table, both block by block
with one thread. The ratios are peer / rosenblatt: above 1 we are faster.
"""

from __future__ import annotations

import gzip
import io
import json
import tempfile
from pathlib import Path

import numpy as np
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_svmlight_file

from common import best_of, data_folder, machine
from rosenblatt import data
from rosenblatt.engine.parsers import parse_svmlight


def svmlight(table: Table) -> None:
    for name in ("a9a", "news20", "sector", "w8a"):
        content = gzip.decompress((data_folder() / "libsvm" / f"{name}.gz").read_bytes())
        block = np.frombuffer(content, dtype=np.uint8)
        parsed, (X, y) = parse_svmlight(block, 22), load_svmlight_file(io.BytesIO(content))
        assert np.array_equal(parsed.labels, y)
        assert np.allclose(parsed.values, X.data)
        theirs, ours = best_of(
            5,
            lambda content=content: load_svmlight_file(io.BytesIO(content)),
            lambda block=block: parse_svmlight(block, 22),
        )
        size = len(content) / 1e6
        table.add_row(
            f"{name}.svm", f"{size:.1f}", f"{size / theirs:.0f}", f"{size / ours:.0f}",
            f"{theirs / ours:.1f}",
        )  # fmt: skip


def ours(path: Path) -> None:
    source = data.open(path, label="label", text="text")
    for chunk, _ in source.chunks():
        assert chunk.bad == 0


def by_pyarrow(path: Path) -> None:
    if path.suffix == ".csv":
        options = pyarrow.csv.ReadOptions(use_threads=False, block_size=4 << 20)
        parse = pyarrow.csv.ParseOptions(newlines_in_values=True)
        for _ in pyarrow.csv.open_csv(path, read_options=options, parse_options=parse):
            pass
    elif path.suffix == ".jsonl":
        options = pyarrow.json.ReadOptions(use_threads=False, block_size=4 << 20)
        pyarrow.json.read_json(path, read_options=options)
    else:
        for _ in pyarrow.parquet.ParquetFile(path).iter_batches(batch_size=8192):
            pass


def tables(table: Table, folder: Path) -> None:
    options = pyarrow.csv.ParseOptions(delimiter="\t", quote_char=False)
    path = data_folder() / "text" / "imdb_train.tsv.zst"
    reviews = pyarrow.csv.read_csv(path, parse_options=options)
    pyarrow.csv.write_csv(reviews, folder / "imdb.csv")
    pyarrow.parquet.write_table(reviews, folder / "imdb.parquet")
    lines = (json.dumps(row, ensure_ascii=False) for row in reviews.to_pylist())
    (folder / "imdb.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for suffix in ("csv", "jsonl", "parquet"):
        path = folder / f"imdb.{suffix}"
        ours(path)
        theirs, mine = best_of(5, lambda path=path: by_pyarrow(path), lambda path=path: ours(path))
        size = reviews.nbytes / 1e6
        table.add_row(
            path.name, f"{size:.1f}", f"{size / theirs:.0f}", f"{size / mine:.0f}",
            f"{theirs / mine:.1f}",
        )  # fmt: skip


def main() -> None:
    console = Console(width=110)
    console.print(machine("scikit-learn", "pyarrow"), "\n")
    table = Table("file", "MB", "peer MB/s", "rosenblatt MB/s", "ratio", box=None)
    svmlight(table)
    with tempfile.TemporaryDirectory() as folder:
        tables(table, Path(folder))
    console.print(table)


if __name__ == "__main__":
    main()
