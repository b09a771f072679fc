"""Scoring files by several workers: the bytes that one process writes."""

from __future__ import annotations

from typer.testing import CliRunner

from rosenblatt import train
from rosenblatt.cli import app

from .reviews import write_reviews


def test_workers_write_the_bytes_of_one_process(reviews, tmp_path):
    model = tmp_path / "a.model"
    train(reviews, label="sentiment", epochs=2, out=model)
    files = [str(write_reviews(tmp_path / f"new{i}.csv", 90, seed=i)) for i in range(3)]
    folders = []
    for workers in ([], ["--workers", "2"]):
        folders.append(tmp_path / f"out{len(workers)}")
        arguments = ["predict", str(model), *files, "-o", f"{folders[-1]}/", *workers]
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 0, done.output
        assert done.output.count("90 rows") == 3
    for path in files:
        one, other = (folder / path.rpartition("/")[2] for folder in folders)
        assert one.read_bytes() == other.read_bytes()
