"""Rows of separated values end where the grammar of CSV says."""

from __future__ import annotations

import os
import re

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt.kernels.row_ends import count_newlines, last_row_end, row_starts

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


# Around 8 KB the end is sought in the last bytes first; around 64 a stripe of words ends.
PIECES = ["a", "#" * 61, "x" * 1500, '"', '""', ",", "\n", "\r\n", 'a,"', '"\n', '5" pipe,', '"b"']


@settings(max_examples=2 * EXAMPLES, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join), st.integers(0, 9000))
def test_the_last_row_of_a_long_text_ends_where_a_step_by_step_reading_says(text, more):
    text += "," + "y" * more
    end, inside, i = 0, False, 0
    while i < len(text):
        if inside and text[i : i + 2] == '""':
            i += 1
        elif text[i] == '"':
            inside = not inside and (i == 0 or text[i - 1] in ",\r\n")
        elif text[i] == "\n" and not inside:
            end = i + 1
        i += 1
    assert last_row_end(block(text), ord(",")) == end


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
