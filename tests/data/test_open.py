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
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rosenblatt import data
from rosenblatt.data import Column
from rosenblatt.errors import DataError
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
    out.write(delimiter.join(ROWS[0]) + "\n")
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


def test_rows_that_are_lent_are_the_same_until_the_next_batch_is_asked_for(tmp_path):
    lines = [f"{'yn'[i % 2]},{' '.join(str(j * i) for j in range(i % 7 + 1))}\n" for i in range(99)]
    path = write(tmp_path, "a.csv", b"label,text\n" + "".join(lines).encode())
    options = {"label": "label", "text": "text", "block_bytes": 256}
    own = [batch.rows for batch in data.open(path, **options)]
    lent = data.open(path, **options).batches(lent=True)
    assert len(own) > 4
    for rows, batch in zip(own, lent, strict=True):
        assert all(np.array_equal(one, other) for one, other in zip(rows, batch.rows, strict=True))


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


def test_numbers_are_scaled_and_a_missing_one_is_the_mean(tmp_path):
    path = write(tmp_path, "n.csv", b"x,label\n1,a\n3,b\n,a\n")
    source, indices, values, _ = read(path)
    assert source.features.columns == (Column("x", "number", 2.0, 1.0),)
    assert values.tolist() == [-1.0, 1.0, 1.0]
    assert indices == [column(["x="], 22), column(["x="], 22), column(["x=?"], 22)]


def test_a_label_that_is_not_a_class_of_the_model_is_named(tmp_path):
    first = read(write(tmp_path, "a.csv", b"x,label\n1,a\n2,b\n"))[0]
    path = write(tmp_path, "b.csv", b"x,label\n1,a\n2,b.\n")
    source = data.open(path, features=first.features, classes=["a", "b"])
    with pytest.raises(DataError, match="line 3, column 'label': the label 'b.' is not a class"):
        list(source)


@pytest.mark.parametrize(
    ("label", "name"), [("kind", "kind"), ("2", "kind"), (2, "kind"), (-1, "y"), ("-3", "a")]
)
def test_the_label_is_given_by_name_or_by_place_from_either_end(tmp_path, label, name):
    path = write(tmp_path, "a.csv", b"a,kind,y\n1,u,3\n2,v,4\n")
    assert data.open(path, label=label).features.label == name


@pytest.mark.parametrize(
    ("label", "message"),
    [
        (None, "which column is the label\\? The columns are a, kind, y"),
        (0, "columns are counted from 1, and from -1 backwards"),
        ("0", "columns are counted from 1, and from -1 backwards"),
        (4, "there is no column '4'; the columns are a, kind, y"),
        (-4, "there is no column '-4'"),
        ("b", "there is no column 'b'"),
    ],
)
def test_a_label_that_cannot_be_meant_is_a_question_or_refused(tmp_path, label, message):
    path = write(tmp_path, "a.csv", b"a,kind,y\n1,u,3\n2,v,4\n")
    for given in (path, {"a": [1], "kind": ["u"], "y": [3]}):
        with pytest.raises(DataError, match=message):
            data.open(given, label=label)


def test_a_name_that_looks_like_a_place_is_a_name(tmp_path):
    path = write(tmp_path, "a.csv", b"a,0,y\n1,u,3\n2,v,4\n")
    assert data.open(path, label="0", header=True).features.label == "0"


@pytest.mark.parametrize(
    "content",
    [b"a,a,label\n1,2,x\n3,4,y\n", b"t,t,label\nsome,words,x\nother,words,y\n"],
)
def test_a_header_that_names_two_columns_alike_is_refused_never_taken_for_data(tmp_path, content):
    path = write(tmp_path, "a.csv", content)
    for label in (3, "label"):
        with pytest.raises(DataError, match="occurs twice in the header; if the first row is data"):
            data.open(path, label=label)
    pyarrow.parquet.write_table(pa.table([[1], [2]], names=["a", "a"]), tmp_path / "a.parquet")
    with pytest.raises(DataError, match="the column name 'a' occurs twice"):
        data.open(tmp_path / "a.parquet", label=1)


def test_a_first_row_of_categories_that_occur_twice_is_data(tmp_path):
    path = write(tmp_path, "mushrooms.csv", b"p,x,x\ne,x,s\np,b,s\n")
    assert read(path, label=1)[3] == ["p", "e", "p"]


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl"])
def test_a_very_long_line_is_read(tmp_path, name):
    mark = b"," if name == "a.csv" else b"\t"
    long = b"word " * 300_000
    rows = [b"pos", b"good"], [b"neg", b"bad"], [b"pos", long]
    content = b"label,text\n".replace(b",", mark) + b"".join(mark.join(r) + b"\n" for r in rows)
    if name == "a.jsonl":
        content = b"".join(b'{"label": "%b", "text": "%b"}\n' % tuple(row) for row in rows)
    source, indices, _, labels = read(write(tmp_path, name, content), text="text")
    assert labels == ["pos", "neg", "pos"]
    assert len(indices) == 1 + 1 + 2
    wide = b",".join(b"c%d" % i for i in range(30_000))
    path = write(tmp_path, "wide.csv", wide + b"\n" + b",".join([b"1"] * 30_000) + b"\n")
    assert len(data.open(path, label=1).features.columns) == 29_999


def test_messages_are_cut_to_a_readable_length(tmp_path):
    content = b"label,x\n" + b"a,1\nb,2\n" * 50 + b"a," + b"w" * 50_000 + b"\n"
    with pytest.raises(DataError, match="line 102, column 'x': expected a number") as caught:
        list(data.open(write(tmp_path, "a.csv", content), columns={"x": "number"}))
    assert len(str(caught.value)) < 300
    wide = b",".join(b"column%d" % i for i in range(10_000))
    with pytest.raises(DataError, match=r"column0, column1, .* and 9,980 more") as caught:
        data.open(write(tmp_path, "b.csv", wide + b"\n" + wide + b"\n"))
    assert len(str(caught.value)) < 600


def test_bad_fasttext_labels_are_left_out_one_by_one(tmp_path):
    lines = b"__label__pos good\n__label__n\345g bad\nno label\n\n__label__neg bad\n"
    path = write(tmp_path, "a.ft", lines)
    source, _, _, labels = read(path, skip_bad_rows=True)
    assert (labels, source.bad) == (["pos", "neg"], 2)
    with pytest.raises(DataError, match="line 2, column 'label': expected UTF-8"):
        read(path)
    with pytest.raises(DataError, match="line 3, column 'label': the label is missing"):
        read(write(tmp_path, "b.ft", lines.replace(b"\345", b"e")))


def frames():
    columns = {name: [row[name] for row in ROWS] for name in ROWS[0]}
    yield columns
    yield table()
    yield pytest.importorskip("pandas").DataFrame(columns, index=[5, 5, 7])


def test_tables_in_memory_give_the_rows_of_a_file(files):
    expected = read(files["parquet"])
    for frame in frames():
        source, indices, values, labels = read(frame)
        assert (indices, labels) == (expected[1], expected[3])
        assert np.array_equal(values, expected[2])
        assert source.files == ["<table>"]
        assert source.features == expected[0].features
        assert source.fingerprint() == read(table())[0].fingerprint()
    with pytest.raises(DataError, match="the table has no rows"):
        data.open(table().slice(0, 0), label="label")
    with pytest.raises(DataError, match="line 2, column 'label': the label is missing"):
        read({"label": ["a", None], "x": [1, 2]})


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
        ("a.svm", b"1 1:1\n-1 99999999:1\n", "too large for the table"),
        ("a.vw", b"1 | a\nbad line\n", "line 2, column 1: expected '|'"),
        ("a.ft", b"__label__a x y\n__label__a __label__b x\n", "line 2: expected one label"),
        ("a.csv", b"", "the file is empty"),
        ("a.csv", b"label,x\n", "the file has no rows"),
        ("a.csv", b"x,x\na,1\n", "'x' occurs twice"),
        ("a.parquet", b"PAR1 and then nothing", "the Parquet file cannot be read"),
        ("a.csv.gz", gzip.compress(plain_csv() * 50)[:-30], "cannot be read to the end"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path, name, content, message):
    path = write(tmp_path, name, content)
    options = {} if name.startswith(("a.csv.gz", "a.svm", "a.vw")) else {"header": True}
    with pytest.raises(DataError, match=message.replace("|", r"\|")):
        list(data.open(path, label="label", **options))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", b"nothing\n[3]\n\n{\n", "line 1: expected a JSON object"),
        ("a.csv", b"label,x\na\n\nb\nc,1,2\n", "line 2: expected 2 values, found 1"),
        ("a.ft", b"__label__a __label__b x\n" * 3, "line 1: expected one label"),
    ],
)
def test_where_all_rows_are_bad_their_number_and_the_first_are_named(
    tmp_path, name, content, message
):
    path = write(tmp_path, name, content)
    with pytest.raises(DataError, match=message):
        list(data.open(path, label="label"))
    left_out = f"no row can be read: 3 bad rows left out. The first: .*{message}"
    with pytest.raises(DataError, match=left_out):
        list(data.open(path, label="label", skip_bad_rows=True))


@pytest.mark.parametrize("rows", [1000, 20_000])
def test_an_arrow_file_that_is_not_sound_is_refused_near_its_fault(tmp_path, rows):
    texts = [b"a good film"] * 20_000
    texts[17_000] = b"a bad \xff"
    text = pa.array(texts, pa.binary()).view(pa.string())
    whole = pa.table({"label": ["a", "b"] * 10_000, "text": text})
    with pa.ipc.new_file(tmp_path / "a.arrow", whole.schema) as file:
        file.write_table(whole, max_chunksize=rows)
    with pytest.raises(DataError, match=r"the Arrow file cannot be read: .*UTF") as caught:
        list(data.open(tmp_path / "a.arrow", label="label"))
    assert caught.value.line == (17_001 if rows == 1000 else 16_385)
    only = pa.table({"label": whole["label"], "kind": whole["label"], "text": text})
    pyarrow.feather.write_feather(only, tmp_path / "b.arrow", compression="uncompressed")
    assert sum(map(len, data.open(tmp_path / "b.arrow", label="label", columns=["kind"])))


def test_a_number_that_is_none_is_named_even_far_into_the_file(tmp_path):
    rows = b"label,x\n" + b"a,1\nb,2\n" * 5000 + b"a,many\n"
    path = write(tmp_path, "a.csv", rows)
    with pytest.raises(DataError, match=r"line 10002, column 'x': expected a number, found 'many'"):
        list(data.open(path, label="label", block_bytes=1 << 12))


def test_bad_rows_are_skipped_and_counted_on_request(tmp_path):
    content = b"label,x,t\na,1,u\nb\nc,2,\xff\xff\n,3,u\na,4,v\nb,5,u,u\n"
    source = data.open(
        write(tmp_path, "a.csv", content), label="label", header=True, skip_bad_rows=True
    )
    assert [[source.classes[c] for c in batch.labels] for batch in source] == [["a", "a"]]
    assert (source.rows, source.bad) == (2, 4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label": "nope"}, "there is no column 'nope'; the columns are label, text, stars, where"),
        ({"text": "nope"}, "there is no column 'nope'"),
        ({"columns": {"text": "sentence"}}, "'sentence' is not a kind of column"),
        (
            {"columns": {"text": "ignore", "stars": "ignore", "where": "ignore"}},
            "no column is left",
        ),
        ({"format": "xml"}, "'xml' is not a format"),
    ],
)
def test_wrong_questions_are_answered_with_what_there_is(files, options, message):
    with pytest.raises(DataError, match=message):
        data.open(files["csv"], **({"label": "label"} | options))


def test_a_file_that_is_not_there_is_named():
    with pytest.raises(DataError, match=r"nothing\.csv: there is no such file"):
        data.open("nothing.csv")


@settings(
    max_examples=FUZZ, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.one_of(st.binary(max_size=120), st.text('ab1,"\n\t\r;é?', max_size=80).map(str.encode)))
def test_no_csv_crashes_and_every_row_is_read_or_counted(tmp_path, noise):
    path = write(tmp_path, "noise.csv", b"label,x\n" + noise)
    try:
        source = data.open(path, label="label", header=True, skip_bad_rows=True)
        rows = sum(len(batch) for batch in source)
    except DataError:
        return
    assert rows == source.rows
    assert rows + source.bad >= 1
