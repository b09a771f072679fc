"""Rows of separated values end where the grammar of CSV says."""

from __future__ import annotations

import os
import re

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt.engine.row_ends import count_newlines, last_row_end, row_starts

EXAMPLES = int(os.environ.get("ROSENBLATT_FUZZ", "150"))


def block(text):
    return np.frombuffer(text.encode(), dtype=np.uint8)


FIELD = r'(?:"(?:[^"]|"")*"(?!")[^,\n]*|[^",\n][^,\n]*|)'
ROW = re.compile(rf"{FIELD}(?:,{FIELD})*\n")


@settings(max_examples=2 * EXAMPLES, deadline=None)
@given(st.text('a#",\n', max_size=60))
def test_rows_end_where_the_grammar_of_csv_says(text):
    end, starts = 0, []
    while (row := ROW.match(text, end)) is not None:
        starts += [end] if row.group() != "\n" else []
        end = row.end()
    assert last_row_end(block(text), ord(",")) == end
    assert row_starts(block(text[:end]), ord(",")).tolist() == starts


def test_rows_start_after_empty_lines():
    assert row_starts(block('a\n\n\r\n"b\n\nc"\nd\n'), ord(",")).tolist() == [0, 5, 12]
    assert row_starts(block("a\n\nb\n"), 0).tolist() == [0, 3]


def test_a_stray_quote_inside_a_value_opens_nothing():
    text = '5" pipe,3\n"a ""b"" \n c",1\nx,"y"\n'
    assert row_starts(block(text), ord(",")).tolist() == [0, 10, 26]
    assert last_row_end(block(text), ord(",")) == len(text)


@given(st.text("a\n", max_size=200))
def test_line_breaks_are_counted(text):
    assert count_newlines(block(text)) == text.count("\n")
