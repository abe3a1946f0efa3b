"""Sheets: what is written is what is read, as CSV and as Parquet."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lodestar_bench.paper.sheet import MOST_LINES, Sheet, read_sheet

WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\x00\r\n"), min_size=1, max_size=8)
NUMBERS = st.floats(allow_infinity=False, width=64)


def again(sheet: Sheet) -> Sheet:
    return read_sheet(sheet.name, sheet.file, sheet.kinds(), sheet.to_bytes())


def test_few_rows_are_a_csv_and_many_a_parquet_file():
    assert Sheet.of("a", ("n",), [(1,)] * MOST_LINES).file == "a.csv"
    assert Sheet.of("a", ("n",), [(1,)] * (MOST_LINES + 1)).file == "a.parquet"


@settings(max_examples=30)
@given(st.lists(st.tuples(WORDS, NUMBERS, st.integers(-(2**53), 2**53)), min_size=1, max_size=5), st.booleans())
def test_words_and_numbers_come_back(rows, many):
    sheet = Sheet.of("a", ("word", "number", "count"), rows * (MOST_LINES if many else 1))
    found = again(sheet)
    assert found["word"].tolist() == sheet["word"].tolist()
    assert found["count"].tolist() == sheet["count"].tolist()
    np.testing.assert_array_equal(found["number"].astype(float), sheet["number"].astype(float))


def test_a_word_that_looks_like_a_number_stays_a_word():
    assert again(Sheet.of("a", ("setting",), [("0.003",), ("1e-05",)]))["setting"].tolist() == ["0.003", "1e-05"]


def test_a_missing_number_is_nan():
    found = again(Sheet.of("a", ("n", "w"), [(None, "x"), (2.5, "")]))
    assert math.isnan(found["n"][0]) and found["n"][1] == 2.5
    assert found["w"].tolist() == ["x", ""]


def test_rows_can_be_chosen_and_read_one_by_one():
    sheet = Sheet.of("a", ("method", "seed"), [("x", 1), ("y", 2), ("x", 3)])
    assert list(sheet.where(method="x").rows()) == [{"method": "x", "seed": 1}, {"method": "x", "seed": 3}]


def test_columns_must_be_of_one_length():
    with pytest.raises(ValueError, match="columns must be of one length"):
        Sheet("a", {"x": np.zeros(2), "y": np.zeros(3)})
