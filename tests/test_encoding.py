"""Columns as people have them become numbers, or are refused by name with what to do."""

from __future__ import annotations

import datetime
import decimal
import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from pauc_core.data.errors import DataError
from pauc_core.own_data.encoding import LIMIT, RARE, Encoding, Numbers, Words
from pauc_core.own_data.tables import Table

PATH = Path("t.csv")
ROWS = 300
NUMBERS = np.random.default_rng(0).normal(size=ROWS).tolist()


def table(**columns: object) -> Table:
    return Table(PATH, pd.DataFrame(columns))


def learn(values: object, **how: object) -> Encoding:
    return Encoding.learn(table(a=values, other=NUMBERS), ["a", "other"], **how)


def one(values: object, **how: object) -> Numbers | Words:
    return learn(values, **how).columns[0]


def applied(encoding: Encoding, **columns: object) -> np.ndarray:
    x = encoding.apply(table(**columns))
    return x.toarray() if sparse.issparse(x) else x.to_numpy()


def test_clean_numbers_are_left_as_they_are():
    encoding = learn(NUMBERS[::-1])
    x = encoding.apply(table(other=NUMBERS, y=["n"] * ROWS, a=NUMBERS[::-1]))
    assert encoding.names == ["a", "other"]
    np.testing.assert_array_equal(x, np.column_stack([NUMBERS[::-1], NUMBERS]))


def test_missing_numbers_get_the_median_of_training_and_an_indicator():
    encoding = learn([None, 1.0, 2.5, *[7.25] * 2, *[0.5] * (ROWS - 5)])
    assert encoding.names == ["a", "a is missing", "other"]
    assert encoding.columns[0] == Numbers("a", 0.5, True)
    x = applied(encoding, a=[3.0, None], other=[1.0, 2.0])
    np.testing.assert_array_equal(x, [[3.0, 0.0, 1.0], [0.5, 1.0, 2.0]])


def test_numbers_that_are_missing_for_the_first_time_are_filled_with_a_warning():
    encoding = learn([1.5, 2.5, 3.5] * 100)
    with pytest.warns(UserWarning, match="2 missing values in 'a', where training had none"):
        x = applied(encoding, a=[9.0, None, None], other=[0.0] * 3)
    np.testing.assert_array_equal(x[:, 0], [9.0, 2.5, 2.5])


def test_frequent_words_have_indicators_and_the_others_one_together():
    values = ["red"] * 190 + ["blue"] * (90 - RARE) + ["pink"] * (RARE - 1) + [None] * (RARE + 11)
    encoding = learn(values)
    assert encoding.columns[0] == Words("a", ("blue", "red"), missing=True, others=True)
    assert encoding.names[:4] == ["a=blue", "a=red", "a is missing", "a=(others)"]
    x = applied(encoding, a=["blue", " red ", None, "pink", "never seen"], other=[0.0] * 5)
    np.testing.assert_array_equal(x[:, :4], np.eye(4)[[0, 1, 2, 3, 3]])


def test_without_others_in_training_a_new_word_has_no_indicator():
    encoding = learn(["yes", "no"] * 150)
    assert encoding.names == ["a=no", "a=yes", "other"]
    x = applied(encoding, a=["yes", "perhaps", None], other=[0.0] * 3)
    np.testing.assert_array_equal(x[:, :2], [[0, 1], [0, 0], [0, 0]])


def test_few_holes_among_words_are_others():
    encoding = learn(["yes", "no"] * 149 + [None] * 2)
    assert encoding.columns[0] == Words("a", ("no", "yes"), missing=False, others=True)
    np.testing.assert_array_equal(applied(encoding, a=[None], other=[0.0])[0, :3], [0, 0, 1])


def test_words_none_of_which_was_seen_are_worth_a_warning():
    encoding = learn(["yes", "no"] * 150)
    with pytest.warns(UserWarning, match="None of the values of 'a' in t.csv was seen"):
        applied(encoding, a=["ja", "nein"], other=[0.0] * 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        applied(encoding, a=["ja", "no"], other=[0.0] * 2)


def test_new_words_that_count_as_others_are_worth_a_warning_too():
    encoding = learn(["x"] * 140 + ["y"] * 151 + ["z"] * 9)
    with pytest.warns(UserWarning, match="None of the values of 'a' in .* was seen in training"):
        applied(encoding, a=["X", "Y"], other=[1.0, 2.0])


def test_thousands_of_words_keep_the_most_frequent_and_become_sparse():
    size = 40_000
    rank = np.random.default_rng(1).zipf(1.3, size=size)
    values = [f"w{r}" for r in np.minimum(rank, 5000)]
    one = table(a=values, other=np.random.default_rng(0).normal(size=size))
    encoding = Encoding.learn(one, ["a", "other"])
    words = encoding.columns[0]
    assert len(words.values) == LIMIT
    assert words.others
    counts = pd.Series(values).value_counts()
    assert min(counts[list(words.values)]) >= counts.iloc[LIMIT]
    numbers = np.arange(size) % 7 - 3.0
    x = encoding.apply(table(a=values, other=numbers))
    assert sparse.issparse(x)
    assert x.format == "csr"
    slow = np.zeros((size, LIMIT + 2))
    for row, value in enumerate(values):
        place = words.values.index(value) if value in words.values else LIMIT
        slow[row, place] = 1.0
    slow[:, -1] = numbers
    np.testing.assert_array_equal(x.toarray(), slow)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([True, False, True] * 100, [1, 0, 1]),
        ([True, None, False] * 100, [1, 0.5, 0]),
        (pd.array([True, None, False] * 100, dtype="boolean"), [1, 0.5, 0]),
        (pd.array([1, None, 3] * 100, dtype="Int64"), [1, 2, 3]),
        (["1", "?", "4.5"] * 100, [1, 2.75, 4.5]),
        ([decimal.Decimal("1.5"), decimal.Decimal(2), None] * 100, [1.5, 2, 1.75]),
        (pd.Series([1.5, 2.5, 3.5] * 100, dtype=np.float32), [1.5, 2.5, 3.5]),
        (np.array([1, 2, 2**60] * 100, dtype=np.uint64), [1, 2, 2.0**60]),
    ],
)
def test_numbers_in_many_clothes(values, expected):
    encoding = learn(values)
    assert isinstance(encoding.columns[0], Numbers)
    x = applied(encoding, a=values, other=NUMBERS)
    np.testing.assert_array_equal(x[:3, 0], expected)


def test_declared_categories_are_words_even_where_they_are_numbers():
    values = pd.Categorical([3, 1, None] * 100, categories=[1, 2, 3])
    encoding = learn(values)
    assert encoding.columns[0] == Words("a", ("1", "3"), missing=True, others=False)
    np.testing.assert_array_equal(
        applied(encoding, a=["3", "1", None], other=[0.0] * 3)[:, :3], np.eye(3)[[1, 0, 2]]
    )
    x = applied(encoding, a=pd.Categorical([3.0, 1.0]), other=[0.0] * 2)
    np.testing.assert_array_equal(x[:, :2], np.eye(2)[[1, 0]])


def test_codes_may_be_taken_as_words():
    encoding = learn(["01", "2", "30"] * 100, text=["a"])
    assert encoding.columns[0] == Words("a", ("01", "2", "30"), missing=False, others=False)
    assert encoding.text == ["a"]


@pytest.mark.parametrize(
    ("values", "what", "advice"),
    [
        (np.arange(ROWS), "identifiers or time stamps", "--number a"),
        (np.random.default_rng(2).permutation(10**9 + np.arange(ROWS)), "identifiers", "--drop a"),
        ([None, *map(float, range(ROWS - 1))], "identifiers", "--drop a"),
        ([f"p{i}" for i in range(ROWS)], "identifiers or free text", "--drop a"),
        (pd.Categorical([f"p{i}" for i in range(ROWS)]), "identifiers", "--drop a"),
        (pd.date_range("2024-01-01", periods=ROWS), "dates or times", "days since"),
        (pd.date_range("2024-01-01", periods=ROWS, tz="UTC"), "dates or times", "days since"),
        ([datetime.date(2024, 1, 5)] * ROWS, "dates or times ('2024-01-05'", "days since"),
        (pd.to_timedelta(np.arange(ROWS), unit="h"), "dates or times", "days since"),
        (["2024-01-05", "2024-02-05"] * 150, "dates or times ('2024-01-05' in row 1", "days"),
        (["2024-01-05T10:11:12Z", "2024-02-05 10:11"] * 150, "dates or times", "days"),
        (["5.1.2024", "12/31/99"] * 150, "dates or times", "days"),
        (["5 Jan 2024", "March 7, 2023"] * 150, "dates or times", "days"),
        (["10:30", "22:15:03"] * 150, "dates or times", "days"),
        (["3,5", "1.234,75", "17"] * 100, "not written plainly ('3,5' in row 1", "decimal point"),
        (["12 %", "$5", "€ 1,000"] * 100, "not written plainly", "decimal point"),
        (["1", "2", "3"] * 99 + ["1", "much", "much"],
         "numbers but for 'much' in row 299 and 1 more", "--missing much"),
        ([[1], [2]] * 150, "a list in a cell", "one number or one word a cell"),
        ([b"x", b"y"] * 150, "a bytes in a cell", "one number or one word a cell"),
        (np.full(ROWS, 1 + 2j), "complex", "two columns"),
    ],
)  # fmt: skip
def test_what_is_refused_by_name_with_what_to_do(values, what, advice):
    with pytest.raises(DataError) as caught:
        learn(values)
    sentence = str(caught.value)
    assert sentence.startswith("t.csv: the column 'a' holds ")
    assert what in sentence
    assert advice in sentence
    assert sentence.endswith(".")


def test_all_refused_columns_are_named_at_once():
    with pytest.raises(
        DataError, match=r"--drop id 'first visit', or take 'id' as numbers"
    ) as caught:
        Encoding.learn(
            table(**{"id": np.arange(ROWS), "x": NUMBERS, "first visit": ["2024-01-05"] * ROWS}),
            ["id", "x", "first visit"],
        )
    assert "'x'" not in str(caught.value)


@pytest.mark.parametrize(
    "values",
    [
        NUMBERS,
        [n + 1e6 for n in NUMBERS],
        np.arange(ROWS) + 0.5,
        np.arange(ROWS) // 2,
        np.random.default_rng(0).integers(100, size=ROWS),
        [5.0] * ROWS,
    ],
)
def test_genuine_numbers_are_no_identifiers(values):
    assert isinstance(one(values), Numbers)


def test_a_short_table_has_no_identifiers_of_numbers():
    short = table(a=[31, 45, 27, 62, 50], b=[1.5, 2.5, 1, 4, 5])
    assert len(Encoding.learn(short, ["a", "b"]).columns) == 2


@pytest.mark.parametrize(
    "values",
    [
        ["10.0.0.1", "192.168.0.1"] * 150,
        ["1-2", "3-4 years"] * 150,
        ["+", "-"] * 150,
        ["?", "-"] * 150,
        ["V45", "250", "401"] * 100,
    ],
)
def test_words_with_digits_are_words(values):
    assert isinstance(one(values), Words)


def test_the_user_may_overrule():
    assert isinstance(one(np.arange(ROWS), number=["a"]), Numbers)
    assert isinstance(one(["2024-01", "2024-02"] * 150, text=["a"]), Words)
    assert isinstance(one(pd.Categorical([1, 2] * 150), number=["a"]), Numbers)
    with pytest.raises(DataError, match=r"row 2: the column 'a' holds 'x', which is no number"):
        one(["1", "x"] * 150, number=["a"])


def test_a_column_without_values_is_left_out_and_named():
    encoding = learn([None] * ROWS)
    assert encoding.names == ["other"]
    assert encoding.left_out == ("'a', which has no values",)
    encoding = learn([f"w{i // 5}" for i in range(ROWS)])
    assert encoding.left_out == ("'a', none of whose values is in 10 rows",)
    with pytest.raises(DataError, match="no column to learn from"):
        Encoding.learn(table(a=[None] * 5), ["a"])


@pytest.mark.parametrize(
    "values", [[1.0, np.inf] * 150, ["1", "?", "inf"] * 100, [1, -(10**400)] * 150]
)
def test_infinite_values_are_refused_by_place(values):
    with pytest.raises(DataError, match=r"row [23], column 'a': an infinite value"):
        learn(values)


@pytest.mark.parametrize(
    ("now", "sentence"),
    [
        (["1", "much"], "row 2: the column 'a' was numbers in training and holds 'much'"),
        (pd.to_datetime(["2024-01-01"] * 2), "'a', numbers in training, holds dates"),
        ([datetime.date(2024, 1, 1)] * 2, "'a', numbers in training, holds dates"),
        ([[1], [2]], "'a', numbers in training, holds a list"),
        ([1.0, np.inf], "row 2, column 'a': an infinite value"),
    ],
)
def test_numbers_in_training_and_something_else_now(now, sentence):
    encoding = learn([1.5, 2.5, 3.5] * 100)
    with pytest.raises(DataError, match=sentence):
        applied(encoding, a=now, other=[0.0, 0.0])


def test_a_column_that_is_gone_is_named():
    with pytest.raises(DataError, match="has no column 'other'"):
        applied(learn(NUMBERS), a=NUMBERS)


def test_a_model_of_bare_numbers_has_no_filling():
    encoding = Encoding.of_numbers(["a", "b"])
    np.testing.assert_array_equal(applied(encoding, b=[1.0], a=[2]), [[2.0, 1.0]])
    with pytest.raises(DataError, match="row 2, column 'b': a missing value"):
        applied(encoding, a=[1, 2], b=[1.0, None])


def test_what_a_file_keeps_gives_the_same_columns():
    values = ["red"] * 150 + ["blue"] * 100 + ["pink"] * 5 + [None] * 45
    holes = [None, *NUMBERS[1:]]
    first = Encoding.learn(table(a=values, b=holes), ["a", "b"], holes=["gone"])
    second = Encoding.from_json(json.loads(json.dumps(first.to_json())))
    assert second == first
    np.testing.assert_array_equal(
        applied(first, a=values, b=holes), applied(second, a=values, b=holes)
    )
