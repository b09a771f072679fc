"""Cells of the plain shape are found as Python's own reader finds them; others are left alone."""

from __future__ import annotations

import csv
import io
import os
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt.kernels.cells import find_cells, gather_cells

EXAMPLES = int(os.environ.get("ROSENBLATT_FUZZ", "150"))
CELLS = st.text('ab,"\n\r;é ', max_size=12) | st.text('a"', min_size=60, max_size=140)


def found(text, delimiter=",", has_quotes=True, width=2):
    data = np.frombuffer(text.encode(), dtype=np.uint8)
    cells, is_known = find_cells(data, ord(delimiter), has_quotes, width)
    if not is_known:
        return None
    columns = []
    for column in range(width):
        offsets = np.empty(len(cells) + 1, np.int32)
        out = np.empty(int((cells[:, column, 1] - cells[:, column, 0]).sum()), np.uint8)
        gather_cells(data, cells, column, offsets, out)
        columns.append([out[a:b].tobytes().decode() for a, b in pairwise(offsets)])
    return [list(row) for row in zip(*columns, strict=True)]


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    st.integers(2, 4).flatmap(lambda n: st.lists(st.lists(CELLS, min_size=n, max_size=n))),
    st.sampled_from([",", ";"]),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
)
def test_cells_that_python_writes_are_found(rows, delimiter, end, quoting):
    if quoting == csv.QUOTE_MINIMAL:  # which leaves a lone return bare: an end of line elsewhere
        rows = [[cell.replace("\r", "") for cell in row] for row in rows]
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator=end, quoting=quoting).writerows(rows)
    width = len(rows[0]) if rows else 2
    text = out.getvalue() or end
    if rows or end == "\n":
        assert found(text, delimiter, True, width) == rows


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.lists(st.lists(st.text('a"b ', max_size=90), min_size=3, max_size=3)))
def test_without_quoting_a_quote_is_a_letter(rows):
    text = "".join("\t".join(row) + "\n" for row in rows)
    assert found(text or "\n", "\t", False, 3) == rows


@pytest.mark.parametrize(
    "text",
    [
        "", "a,b", "a\n", "a,b,c\n", "a,b\n\r\n", 'a,"b\n', 'a,"b"c\n', '"a"b,c\n', "a,b\rc,d\n",
        "a,b\r", '"a', 'a,"b"\r', 'a,"', 'a,"b""\n',
    ],
)  # fmt: skip
def test_what_is_not_of_the_plain_shape_is_left_alone(text):
    assert found(text) is None


def test_empty_lines_are_no_rows_and_many_rows_have_room():
    assert found("\n\na,b\n\nc,d\n\n") == [["a", "b"], ["c", "d"]]
    assert found("1,2\n" * 5000) == [["1", "2"]] * 5000
