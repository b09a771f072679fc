"""Reading files: svmlight against scikit-learn, tables against pyarrow's own readers.

    python benchmarks/bench_parsing.py

svmlight: the bytes of a file to CSR arrays, by one thread, against
`sklearn.datasets.load_svmlight_file`.

Tables: ours from `data.open` to checked columns that know their lines (without hashing), the look
at the beginning included; pyarrow's own streaming readers to the same columns and types, batch by
batch, with blocks of the same size. Both use all cores. For Arrow files, which are mapped into
memory and so are read by being looked at, both look whether all strings are UTF-8. The ratios are
peer / rosenblatt: above 1 we are faster.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_svmlight_file

from common import best_of, data_folder, machine
from rosenblatt import data
from rosenblatt.data.arrow_tables import Chunk, check_chunk
from rosenblatt.data.bytes import BLOCK_BYTES
from rosenblatt.data.source import in_order
from rosenblatt.kernels.sparse_lines import parse_svmlight

COPIES = 10
REVIEWS = {"label": pa.string(), "text": pa.string()}
ADULT = {str(i): pa.float64() if i in (1, 3, 5, 11, 12, 13) else pa.string() for i in range(1, 16)}


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


class Task(NamedTuple):
    """A file to read, and how pyarrow is told to read it to the same columns and types."""

    name: str
    write: Callable[[Path], None]
    read: Callable[[Path], Iterator[object]]
    label: str | int = "label"


def ours(path: Path, task: Task) -> int:
    source = data.open(path, label=task.label)
    features = source.features

    def rows(piece: Callable[[], Chunk]) -> int:
        return check_chunk(piece(), features.columns, features.label, skip=False).table.num_rows

    return sum(in_order(source._pieces(), rows))


def csv_by_pyarrow(
    path: Path, columns: dict[str, pa.DataType], header: bool = True, **parsing: object
) -> Iterator[object]:
    return pyarrow.csv.open_csv(
        path,
        pyarrow.csv.ReadOptions(
            block_size=BLOCK_BYTES, column_names=list(columns), skip_rows=int(header)
        ),
        pyarrow.csv.ParseOptions(**parsing),
        pyarrow.csv.ConvertOptions(column_types=columns),
    )


def json_by_pyarrow(path: Path) -> Iterator[object]:
    options = pyarrow.json.ParseOptions(explicit_schema=pa.schema(REVIEWS))
    return pyarrow.json.open_json(path, pyarrow.json.ReadOptions(block_size=BLOCK_BYTES), options)


def parquet_by_pyarrow(path: Path) -> Iterator[object]:
    return pyarrow.parquet.ParquetFile(path).iter_batches(batch_size=8192)


def arrow_by_pyarrow(path: Path) -> Iterator[object]:
    with pa.memory_map(str(path)) as file:
        opened = pa.ipc.open_file(file)
        for i in range(opened.num_record_batches):
            batch = opened.get_batch(i)
            batch.validate(full=True)
            yield batch


def write_csv(table: pa.Table, path: Path) -> None:
    is_gzip = path.suffix == ".gz"
    with gzip.open(path, "wb", compresslevel=1) if is_gzip else pa.output_stream(path) as file:
        pyarrow.csv.write_csv(table, file)


def write_tsv(table: pa.Table, path: Path) -> None:
    rows = zip(*(table[name].to_pylist() for name in table.column_names), strict=True)
    lines = "".join("\t".join(row) + "\n" for row in [table.column_names, *rows])
    path.write_text(lines, encoding="utf-8")


def write_jsonl(table: pa.Table, path: Path) -> None:
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in table.to_pylist())
    path.write_text("".join(lines) * COPIES, encoding="utf-8")


def write_arrow(table: pa.Table, path: Path) -> None:
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table, max_chunksize=8192)


def tasks() -> Iterator[Task]:
    options = pyarrow.csv.ParseOptions(delimiter="\t", quote_char=False)
    once = pyarrow.csv.read_csv(
        data_folder() / "text" / "imdb_train.tsv.zst", parse_options=options
    )
    reviews = pa.concat_tables([once] * COPIES).combine_chunks()
    quoted = partial(csv_by_pyarrow, columns=REVIEWS, newlines_in_values=True)
    plain = partial(csv_by_pyarrow, columns=REVIEWS, delimiter="\t", quote_char=False)
    cells = partial(csv_by_pyarrow, columns=ADULT, header=False, newlines_in_values=True)
    adult = gzip.decompress((data_folder() / "tabular" / "adult-train.csv.gz").read_bytes())
    yield Task("reviews.csv", partial(write_csv, reviews), quoted)
    yield Task("reviews.csv.gz", partial(write_csv, reviews), quoted)
    yield Task("reviews.csv.zst", partial(write_csv, reviews), quoted)
    yield Task("reviews.tsv", partial(write_tsv, reviews), plain)
    yield Task("reviews.jsonl", partial(write_jsonl, once), json_by_pyarrow)
    yield Task("reviews.parquet", partial(pyarrow.parquet.write_table, reviews), parquet_by_pyarrow)
    yield Task("reviews.arrow", partial(write_arrow, reviews), arrow_by_pyarrow)
    rows = (adult.strip() + b"\n") * (4 * COPIES)
    yield Task("adult.csv", lambda path: path.write_bytes(rows), cells, label=-1)


def tables(table: Table, folder: Path, times: int, only: list[str]) -> None:
    for task in tasks():
        if only and task.name not in only:
            continue
        path = folder / task.name
        task.write(path)
        size = decompressed(path) / 1e6
        rows = sum(batch.num_rows for batch in task.read(path))
        assert ours(path, task) == rows
        theirs, mine = best_of(
            times,
            lambda task=task, path=path: deque(task.read(path), maxlen=0),
            lambda task=task, path=path: ours(path, task),
        )
        table.add_row(
            path.name, f"{size:.0f}", f"{size / theirs:.0f}", f"{size / mine:.0f}",
            f"{theirs / mine:.2f}",
        )  # fmt: skip
        path.unlink()


def decompressed(path: Path) -> int:
    """The bytes of a file as they are read; of Parquet as they are written, compressed."""
    with pa.input_stream(str(path)) as file:
        return sum(iter(lambda: len(file.read(1 << 22)), 0))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--times", type=int, default=7, help="how often each is timed")
    options.add_argument("--only", nargs="*", default=[], help="names of files")
    chosen = options.parse_args()
    console = Console(width=110)
    console.print(machine("scikit-learn", "pyarrow"), "\n")
    table = Table("file", "MB", "peer MB/s", "rosenblatt MB/s", "ratio", box=None)
    if not chosen.only:
        svmlight(table)
    with tempfile.TemporaryDirectory() as folder:
        tables(table, Path(folder), chosen.times, chosen.only)
    console.print(table)


if __name__ == "__main__":
    main()
