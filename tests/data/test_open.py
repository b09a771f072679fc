"""Files of every format give the same batches; what is wrong is named with its place."""

from __future__ import annotations

import gzip
import io
import json
import os
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt import data, train
from rosenblatt.errors import DataError, OptionError
from rosenblatt.kernels.text import column

ROWS = [
    {"label": "pos", "text": "a good film, and fun", "stars": 4.5, "where": "web"},
    {"label": "neg", "text": 'bad: the "plot" fails', "stars": 1.0, "where": "press"},
    {"label": "pos", "text": "Très bon ! un vrai chef d'œuvre", "stars": None, "where": "web"},
]
FUZZ = int(os.environ.get("ROSENBLATT_FUZZ", "100"))


def table():
    return pa.Table.from_pylist(ROWS)


def plain_csv(delimiter=",", quoting=True):
    out = io.StringIO()
    names = [f'"{name}"' if quoting and delimiter == "\t" else name for name in ROWS[0]]
    out.write(delimiter.join(names) + "\n")  # TSV has quotes where its first line has them
    for row in ROWS:
        cells = ["" if v is None else str(v) for v in row.values()]
        if quoting:
            cells = ['"' + cell.replace('"', '""') + '"' for cell in cells]
        out.write(delimiter.join(cells) + "\n")
    return out.getvalue().encode()


def write(folder, name, content):
    (folder / name).write_bytes(content)
    return folder / name


def jsonl():
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS).encode()


@pytest.fixture
def files(tmp_path):
    pyarrow.parquet.write_table(table(), tmp_path / "a.parquet")
    pyarrow.feather.write_feather(table(), tmp_path / "a.arrow")
    with pa.ipc.new_stream(tmp_path / "stream.arrow", table().schema) as stream:
        stream.write_table(table())
    return {
        "csv": write(tmp_path, "a.csv", plain_csv()),
        "semicolons": write(tmp_path, "b.csv", plain_csv(";")),
        "tsv": write(tmp_path, "a.tsv", plain_csv("\t", quoting=False)),
        "quoted tsv": write(tmp_path, "q.tsv", plain_csv("\t")),
        "jsonl": write(tmp_path, "a.jsonl", jsonl()),
        "gzip": write(tmp_path, "a.csv.gz", gzip.compress(plain_csv())),
        "zstd": write(tmp_path, "z.jsonl.zst", pa.compress(jsonl(), "zstd", asbytes=True)),
        "unnamed gzip": write(tmp_path, "unnamed", gzip.compress(jsonl())),
        "byte order mark": write(tmp_path, "bom.csv", b"\xef\xbb\xbf" + plain_csv()),
        "carriage returns": write(tmp_path, "cr.csv", plain_csv().replace(b"\n", b"\r\n")),
        "parquet": tmp_path / "a.parquet",
        "arrow": tmp_path / "a.arrow",
        "arrow stream": tmp_path / "stream.arrow",
    }


def read(path, **options):
    source = data.open(path, **({"label": "label"} | options))
    batches = list(source)
    indices = np.concatenate([b.rows.indices for b in batches])
    values = np.concatenate([b.rows.values for b in batches])
    labels = [source.classes[c] for b in batches for c in b.labels]
    return source, indices.tolist(), values, labels


def test_every_format_gives_the_same_rows(files):
    expected = read(files["parquet"])
    kinds = {c.name: c.kind for c in expected[0].features.columns}
    assert kinds == {"text": "text", "stars": "number", "where": "category"}
    for name, path in files.items():
        source, indices, values, labels = read(path)
        assert labels == ["pos", "neg", "pos"], name
        assert indices == expected[1], name
        assert values == pytest.approx(expected[2]), name
        assert dict(source.missing) == {"stars": 1}, name


def test_fasttext_is_a_table_of_label_and_text(tmp_path):
    lines = "".join(f"__label__{r['label']} {r['text']}\n" for r in ROWS)
    fasttext = read(write(tmp_path, "a.ft", lines.encode()))
    csv = read(write(tmp_path, "a.csv", plain_csv()), text="text")
    assert fasttext[1] == csv[1]
    assert fasttext[3] == csv[3]


def test_fasttext_lines_without_a_label_are_left_out_and_counted(tmp_path):
    lines = ["__label__a so good", "odd, line", "so dull __label__b", "  "] * 3
    path = write(tmp_path, "a.txt", "\n".join(lines).encode())
    source = data.open(path)
    batches = list(source)
    assert (source.format, source.rows, source.bad, source.missing["label"]) == (
        "fasttext",
        6,
        0,
        3,
    )
    assert [source.classes[code] for code in batches[0].labels] == ["a", "b"] * 3
    source.labelled = False
    assert sum(len(batch) for batch in source) == 9  # to be predicted


def test_a_fasttext_line_without_a_label_has_none_where_lines_have_several(tmp_path):
    path = write(tmp_path, "a.ft", b"__label__a __label__b so good\nodd\n__label__b so dull\n")
    source = data.open(path)
    codes = next(iter(source)).labels
    sets = [source.label_sets.members[code] for code in codes]
    assert [[source.classes[c] for c in one] for one in sets] == [["a", "b"], [], ["b"]]
    assert not source.missing


def test_labels_of_fasttext_lines_may_have_another_prefix(tmp_path):
    lines = b"#a so good\nso __label__dull #b\n"
    source = data.open(write(tmp_path, "a.txt", lines), format="fasttext:#")
    assert next(iter(source)).labels.tolist() == [0, 1]
    assert source.classes == ["a", "b"]
    with pytest.raises(OptionError, match="is not a format"):
        data.open(tmp_path / "a.txt", format="csv:#")


def test_several_files_and_patterns_are_read_one_after_the_other(files, tmp_path):
    twice = read([files["csv"], files["byte order mark"]])
    assert twice[3] == ["pos", "neg", "pos"] * 2
    write(tmp_path, "part1.csv", plain_csv())
    write(tmp_path, "part2.csv", plain_csv())
    assert read(str(tmp_path / "part*.csv"))[1] == twice[1]


def test_standard_input_is_read_once(monkeypatch):
    given = io.BufferedReader(io.BytesIO(gzip.compress(plain_csv())))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(given))
    source = data.open("-", label="label")
    assert sum(len(batch) for batch in source) == 3
    with pytest.raises(DataError, match="only once"):
        list(source)


def test_small_blocks_give_the_same_rows_as_large_ones(files):
    for name in ("csv", "tsv", "jsonl", "gzip"):
        large = read(files[name], columns={"stars": "category"})
        small = read(files[name], columns={"stars": "category"}, block_bytes=90)
        assert small[1] == large[1], name
        assert small[3] == large[3], name


def test_rows_without_a_header_are_named_by_their_place(tmp_path):
    path = write(tmp_path, "adult.csv", b"39, State-gov, <=50K\n50, ?, >50K\n28, Private, <=50K\n")
    source, indices, _, labels = read(path, label=-1)
    assert labels == ["<=50K", ">50K", "<=50K"]
    assert [(c.name, c.kind) for c in source.features.columns] == [
        ("1", "number"),
        ("2", "category"),
    ]
    assert indices[1] == column(["2=State-gov"], 22)
    assert indices[3] == column(["2=?"], 22)


def test_a_label_that_is_not_a_class_of_the_model_is_named(tmp_path):
    first = read(write(tmp_path, "a.csv", b"x,label\n1,a\n2,b\n"))[0]
    path = write(tmp_path, "b.csv", b"x,label\n1,a\n2,b.\n")
    source = data.open(path, features=first.features, classes=["a", "b"])
    with pytest.raises(DataError, match=r"line 3, column 'label': the label 'b\.' is not"):
        list(source)


def test_messages_are_cut_to_a_readable_length(tmp_path):
    content = b"label,x\na," + b"w" * 50_000 + b"\n"
    with pytest.raises(DataError, match="line 2, column 'x': expected a number") as caught:
        list(data.open(write(tmp_path, "a.csv", content), columns={"x": "number"}))
    assert len(str(caught.value)) < 300
    wide = b",".join(b"column%d" % i for i in range(10_000))
    with pytest.raises(DataError, match=r"column0, column1, .* and 9,980 more") as caught:
        data.open(write(tmp_path, "b.csv", wide + b"\n" + wide + b"\n"))
    assert len(str(caught.value)) < 600


def test_more_labels_than_a_model_can_hold_are_refused_with_what_to_do(tmp_path):
    rows = "".join(f"{i}|b,good\n" for i in range(1001))
    path = write(tmp_path, "a.csv", b"label,text\n" + rows.encode())
    with pytest.raises(DataError, match=r"more than 1,000 different labels.*put rare labels"):
        train(path, label_separator="|")
    with pytest.raises(DataError, match=r"1,001 different labels.*: there are 1,001 rows"):
        train(path)


def test_bad_fasttext_labels_are_left_out_one_by_one(tmp_path):
    lines = b"__label__pos good\n__label__n\345g bad\nno label\n\n__label__neg bad\n"
    path = write(tmp_path, "a.ft", lines)
    source, _, _, labels = read(path, skip_bad_rows=True)
    assert (labels, source.bad, source.missing["label"]) == (["pos", "neg"], 1, 1)
    with pytest.raises(DataError, match="line 2, column 'label': expected UTF-8"):
        read(path)
    assert read(write(tmp_path, "b.ft", lines.replace(b"\345", b"e")))[3] == ["pos", "neg", "neg"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"label,x\na,1\nb,2\nc,3,4\n", "a.csv, line 4: expected 2 values, found 3"),
        ("a.csv", b'label,x\na,"1\n\n2"\nb,y z w\nc\n', "line 6: expected 2 values, found 1"),
        ("a.tsv", b"label\tx\na\tw w w\nb\tw\xff w w\n", "line 3, column 'x': expected UTF-8"),
        ("a.csv", b"label,x\na,1\nb,2\n,3\n", "line 4, column 'label': the label is missing"),
        ("a.jsonl", b'{"label": "a", "x": 1}\n{"label": "b"\n', "line 2: expected a JSON object"),
        ("a.jsonl", b'{"label": "a", "x": 1}\n\n[3]\n', "line 3: expected a JSON object"),
        ("a.svm", b"1 1:1\n-1 2:x\n", "line 2, column 4: expected a feature"),
        (
            "a.vw",
            b"1 2 | a\n-1 -2 't| b\n",
            "line 2, column 4: expected an importance, which is not negative, found '-2'",
        ),
        ("a.svm", b"1 1:1\n-1 9999999:1\n", r"too large for the table.*more with --bits 24"),
        ("a.svm", b"1 1:1\n-1 99999999:1\n", "above 2.26: number the features in use from 1"),
        ("a.vw", b"1 | a\nbad line\n", "line 2, column 1: expected '|'"),
        # Several labels are detected from the first lines; here they come too late.
        (
            "a.ft",
            b"__label__a x y\n" * 5000 + b"__label__a __label__b x\n",
            "line 5001: expected one label",
        ),
        ("a.csv", b"", "the file is empty"),
        ("a.csv", b"\x89PNG\r\n\x1a\n\x00\xff", "found a zero byte; is this a binary file"),
        ("a.csv", b"label,x\n", "the file has no rows"),
        ("a.csv", b"x,x\na,1\n", "'x' occurs twice"),
        ("a.parquet", b"PAR1 and then nothing", "the Parquet file cannot be read"),
        ("a.csv.gz", gzip.compress(plain_csv() * 50, mtime=0)[:-30], "cannot be read to the end"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path, name, content, message):
    path = write(tmp_path, name, content)
    options = {} if name.startswith(("a.csv.gz", "a.svm", "a.vw")) else {"header": True}
    with pytest.raises(DataError, match=message.replace("|", r"\|")):
        list(data.open(path, label="label", **options))


def test_bad_rows_are_skipped_and_counted_on_request(tmp_path):
    content = b"label,x,t\na,1,u\nb\nc,2,\xff\xff\n,3,u\na,4,v\nb,5,u,u\n"
    source = data.open(
        write(tmp_path, "a.csv", content), label="label", header=True, skip_bad_rows=True
    )
    assert [[source.classes[c] for c in batch.labels] for batch in source] == [["a", "a"]]
    assert (source.rows, source.bad) == (2, 4)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"label": "nope"},
            DataError,
            "there is no column 'nope'; the columns are label, text, stars, where",
        ),
        ({"text": "nope"}, DataError, "there is no column 'nope'"),
        ({"columns": {"text": "sentence"}}, OptionError, "'sentence' is not a kind of column"),
        (
            {"columns": {"text": "ignore", "stars": "ignore", "where": "ignore"}},
            DataError,
            "no column is left",
        ),
        ({"format": "xml"}, OptionError, "'xml' is not a format"),
    ],
)
def test_wrong_questions_are_answered_with_what_there_is(files, options, error, message):
    with pytest.raises(error, match=message):
        data.open(files["csv"], **({"label": "label"} | options))


def test_nested_values_are_named_where_nothing_else_is_left(tmp_path):
    path = write(tmp_path, "a.jsonl", b'{"label": "a", "user": {"age": 3}}\n' * 9)
    with pytest.raises(DataError, match="values of objects and lists, as in user, need columns"):
        data.open(path)


def test_a_file_that_is_not_there_is_named():
    with pytest.raises(DataError, match=r"nothing\.csv: there is no such file"):
        data.open("nothing.csv")


def test_no_csv_crashes_and_every_row_is_read_or_counted(tmp_path):
    read_ones = 0

    @settings(max_examples=FUZZ, deadline=None)
    @given(st.binary(max_size=120) | st.text('ab1,"\n\t\r;é?', max_size=80).map(str.encode))
    def check(noise):
        nonlocal read_ones
        path = write(tmp_path, "noise.csv", b"label,x\n" + noise)
        try:
            source = data.open(path, label="label", header=True, skip_bad_rows=True)
            rows = sum(len(batch) for batch in source)
        except DataError:
            return
        assert rows == source.rows
        assert rows + source.bad >= 1
        read_ones += rows > 0

    check()
    assert read_ones >= FUZZ // 50
