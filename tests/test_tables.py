"""Reading tables as people have them, and the sentence for each that cannot be read."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pauc_core.data.errors import DataError
from pauc_core.own_data import tables
from pauc_core.own_data.tables import read_table, table_kind


def written(tmp_path: Path, content: str | bytes, name: str = "t.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


PLAIN = 'a,b,y\n1,"x, z",no\n2,w,yes\n'


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", PLAIN),
        ("t.csv", b"\xef\xbb\xbf" + PLAIN.encode()),
        ("t.csv", PLAIN.replace("\n", "\r\n")),
        ("t.csv", PLAIN.replace("\n", "\r")),
        ("t.csv", "\n\n" + PLAIN),
        ("t.csv", 'a;b;y\n1;"x, z";no\n2;w;yes\n'),
        ("t.csv", 'a\tb\ty\n1\t"x, z"\tno\n2\tw\tyes\n'),
        ("t.tsv", "a\tb\ty\n1\tx, z\tno\n2\tw\tyes\n"),
        ("t.TSV", "a\tb\ty\n1\tx, z\tno\n2\tw\tyes\n"),
        ("t.csv", 'a, b , y\n1, "x, z", no\n2, w, yes\n'),
        ("t.csv", '"a";"b";"y"\n1;"x, z";"no"\n2;"w";"yes"\n'),
        ("t.csv.gz", gzip.compress(PLAIN.encode(), mtime=0)),
        ("t.gz", gzip.compress(PLAIN.encode(), mtime=0)),
        ("t.csv.bz2", bz2.compress(PLAIN.encode())),
        ("t.csv.xz", lzma.compress(PLAIN.encode())),
        ("t.csv", ",a,b,y\n0,1,\"x, z\",no\n1,2,w,yes\n"),
        ("t.csv", '"a","b","y"\n"1",1,"x, z","no"\n"2",2,"w","yes"\n'),
        ("t.csv", "a,b,y,\n1,\"x, z\",no,\n2,w,yes,\n"),
    ],
)  # fmt: skip
def test_one_table_in_many_clothes(tmp_path, name, content):
    table = read_table(written(tmp_path, content, name))
    assert table.frame.to_dict("list") == {"a": [1, 2], "b": ["x, z", "w"], "y": ["no", "yes"]}


def test_separators_inside_quotes_do_not_count(tmp_path):
    table = read_table(written(tmp_path, '"age, in years, at visit";b\n"1";2\n'))
    assert list(table.frame.columns) == ["age, in years, at visit", "b"]


def test_an_index_is_left_out_and_named(tmp_path):
    assert read_table(written(tmp_path, PLAIN)).left_out == ()
    for content in (",a,b\n0,1,2\n1,3,4\n", "a,b\nr1,1,2\nr2,3,4\n"):
        (what,) = read_table(written(tmp_path, content)).left_out
        assert what.startswith("the first column")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "is empty"),
        ("\n \n", "is empty"),
        ("a,b,y\n", "has no rows"),
        ("a,b,a\n1,2,3\n", "two columns are called 'a'"),
        ("a, b,b \n1,2,3\n", "two columns are called 'b'"),
        ("a,b\n1,2,\n3,4,\n", "more cells than its header"),
        ("a,b\n1,2,3,4\n5,6,7,8\n", "more cells than its header"),
        ("a,b\n1,2\n3,4,5\n", "cannot be read as csv"),
        ("a,,b\n1,2,3\n", "column number 2 has no name"),
        (b"a,b\n\xe4,1\n", "is not UTF-8"),
        ("a,b\n1,2\n".encode("utf-16"), "is not UTF-8"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(tmp_path, content, sentence):
    path = written(tmp_path, content)
    with pytest.raises(DataError, match=sentence) as caught:
        read_table(path)
    assert str(path) in str(caught.value)
    assert str(caught.value).endswith(".")


def test_a_damaged_archive_is_one_sentence(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        read_table(written(tmp_path, b"no archive", "t.csv.gz"))
    with pytest.raises(DataError, match="cannot be read"):
        read_table(written(tmp_path, gzip.compress(b"a,b\n" * 5000)[:-20], "t.csv.gz"))


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(DataError, match="is not a file"):
        read_table(tmp_path)


def test_two_parquet_columns_of_one_name(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "t.parquet"
    pq.write_table(pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]), path)
    with pytest.raises(DataError, match="two columns are called 'a'"):
        read_table(path)


def test_a_parquet_index_is_no_column(tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"a": [1, 2]}, index=["p", "q"]).to_parquet(path)
    assert read_table(path).frame.to_dict("list") == {"a": [1, 2]}


@pytest.mark.parametrize(
    ("name", "kind"),
    [("a.csv", ".csv"), ("a.CSV.GZ", ".csv"), ("a.tsv.xz", ".tsv"), ("a", None), ("a.txt", None),
     ("a.libsvm.bz2", None), ("a.gz", ".csv"), ("a.parquet", ".parquet")],
)  # fmt: skip
def test_the_ending_says_what_a_file_is(name, kind):
    assert table_kind(Path(name)) == kind


def test_pieces_are_one_table(tmp_path, monkeypatch):
    """Whatever a column looks like in a piece, it is read as if the file were one piece."""
    frame = pd.DataFrame(
        {
            "whole": np.arange(9),
            "later float": [1, 2, 3, 4, 5, 6, 7, 8, 0.1],
            "later words": ["01", "2", "3", "4", "5", "6", "7", "8", "x"],
            "first words": ["x", *"12345678"],
            "holes": [None] * 3 + list("abc") + [None] * 3,
            "answers": [True, False, True] * 2 + [True, None, False],
            "nothing": [None] * 9,
        }
    )
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    whole = read_table(path).frame
    monkeypatch.setattr(tables, "CHUNK", 3)
    pieces = read_table(path).frame
    pd.testing.assert_frame_equal(whole, pd.read_csv(path))
    pd.testing.assert_frame_equal(pieces, whole)
    assert pieces["later words"].tolist()[0] == "01"


def test_text_columns_keep_their_cells_and_words_may_mean_nothing(tmp_path):
    path = written(tmp_path, "code,b\n01,5\n2,none of it\n3,7\n")
    table = read_table(path, text=["code"], missing=["none of it", "3"])
    assert table.frame["code"].fillna("-").tolist() == ["01", "2", "-"]
    np.testing.assert_array_equal(table.frame["b"], [5.0, np.nan, 7.0])
    parquet = tmp_path / "t.parquet"
    pd.DataFrame({"a": ["x", "gone"], "b": [1, 2]}).to_parquet(parquet)
    assert read_table(parquet, missing=["gone"]).frame["a"].isna().tolist() == [False, True]
    found = read_table(parquet, missing=["gone", "2.0", "y"]).frame["b"]
    assert found.isna().tolist() == [False, True], "numbers too, as in a CSV file"
