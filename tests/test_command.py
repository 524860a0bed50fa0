"""The command line: what it prints and writes, and an exit code for whatever goes wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file

from pauc_core import PartialAUCClassifier, pauc, pauc_interval
from pauc_core.own_data.command import main


def table(seed: int, rows: int = 1500) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    sick = rng.random(rows) < 0.2
    x = rng.normal(size=(rows, 3)) + sick[:, None] * [1.0, 0.5, 0.0]
    frame = pd.DataFrame(x, columns=["age", "dose", "noise"])
    frame.insert(1, "y", np.where(sick, "sick", "well"))
    frame["patient"] = np.arange(rows) // 5
    return frame


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    table(0).to_csv("train.csv", index=False)
    table(1).to_csv("test.csv", index=False)
    return tmp_path


def fit_line(*more: str) -> list[str]:
    plain = ["fit", "train.csv", "--label", "y", "--positive", "sick", "--group", "patient"]
    return [*plain, "--fpr", "0.05", "0.5", "--quiet", "-o", "model.npz", *more]


def test_fit_then_score(folder: Path, capsys):
    assert main(fit_line()) == 0
    assert "held-out pAUC" in capsys.readouterr().out
    assert main(["score", "model.npz", "test.csv", "--at", "0.1", "0.3", "--roc", "r.png"]) == 0
    printed = capsys.readouterr().out
    model = PartialAUCClassifier.load("model.npz")
    test = table(1)
    scores = model.decision_function(test[["age", "dose", "noise"]])
    area = pauc(test["y"].to_numpy() == "sick", scores, fpr_low=0.05, fpr_high=0.5)
    assert f"pAUC       {area:.4f} in [0.05, 0.5]" in printed
    rows = [line.split() for line in printed.splitlines()]
    low, high = next((float(r[2]), float(r[4])) for r in rows if r[:2] == ["95", "%"])
    positive = (test["y"] == "sick").to_numpy()
    found = pauc_interval(positive, scores, fpr_low=0.05, fpr_high=0.5)
    assert (low, high) == (round(found.low, 4), round(found.high, 4))
    table_rows = {r[0]: [float(v) for v in r[1:3]] for r in rows if r and r[0] in ("0.1", "0.3")}
    assert table_rows["0.1"][0] <= 0.1
    assert table_rows["0.3"][1] > table_rows["0.1"][1] > table_rows["0.1"][0]
    assert (folder / "r.png").read_bytes()[:4] == b"\x89PNG"
    assert not list(folder.glob(".part-*"))


def test_a_clean_table_gives_the_model_of_its_frame(folder: Path):
    assert main(fit_line()) == 0
    train = pd.read_csv("train.csv")
    hand = PartialAUCClassifier(0.05, 0.5, random_state=0)
    hand.fit(
        train[["age", "dose", "noise"]], train["y"] == "sick", groups=train["patient"].astype(str)
    )
    model = PartialAUCClassifier.load("model.npz")
    np.testing.assert_array_equal(model.coef_, hand.coef_)
    np.testing.assert_array_equal(model.intercept_, hand.intercept_)
    assert list(model.feature_names_in_) == ["age", "dose", "noise"]


def test_the_threshold_of_predict_is_0_and_scores_at_a_threshold_are_refused(folder: Path, capsys):
    """A threshold just above a negative's score 0 was printed as 4.941e-324."""
    frame = pd.DataFrame({"x": [0.0, 1.0] * 100, "y": [0] * 100 + [1] * 100})
    frame.loc[150:, "x"] = 2.0
    PartialAUCClassifier(0, 1, random_state=0).fit(frame[["x"]], frame["y"]).save("model.npz")
    frame.to_csv("test.csv", index=False)
    capsys.readouterr()
    line = ["score", "model.npz", "test.csv", "--label", "y", "--at", "0", "0.5", "1"]
    assert main(line) == 0
    printed = capsys.readouterr().out
    assert "e-324" not in printed
    last = printed.splitlines()[-1].split()
    assert (last[0], last[-1]) == ("predict", "0")
    assert main([*line, "--json"]) == 0
    none, half, every, _ = json.loads(capsys.readouterr().out)["rates"]
    assert (none["fpr"], none["tpr"]) == (0.0, 0.5)
    assert (half["fpr"], half["tpr"]) == (0.5, 0.75)
    assert (every["fpr"], every["tpr"], every["threshold"]) == (1.0, 1.0, None)
    model = PartialAUCClassifier.load("model.npz")
    assert (model.decision_function(frame[["x"]]) > half["threshold"]).sum() == 125


def test_columns_are_found_by_name_not_by_place(folder: Path, capsys):
    assert main(fit_line()) == 0
    main(["score", "model.npz", "test.csv"])
    first = capsys.readouterr().out.split("pAUC")[-1]
    table(1)[["noise", "y", "dose", "age"]].to_parquet("test.parquet")
    assert main(["score", "model.npz", "test.parquet"]) == 0
    assert capsys.readouterr().out.split("pAUC")[-1] == first


def test_libsvm_in_and_out(folder: Path, capsys):
    for seed, name in ((0, "train.txt"), (1, "test.txt")):
        frame = table(seed)
        labels = np.where(frame["y"] == "sick", 1, -1)
        dump_svmlight_file(
            frame[["age", "dose", "noise"]].to_numpy(), labels, name, zero_based=False
        )
    line = ["fit", "train.txt", "--positive", "1", "--quiet", "-o", "model.npz"]
    assert main(line) == 0
    assert main(["score", "model.npz", "test.txt", "--roc", "r.png"]) == 0
    assert "positive class    1" in capsys.readouterr().out
    assert (folder / "r.png").exists()


def test_progress_is_shown_unless_quiet(folder: Path, capsys):
    line = [word for word in fit_line() if word != "--quiet"]
    assert main(line) == 0
    assert "held-out pAUC" in capsys.readouterr().err
    assert main(fit_line()) == 0
    assert capsys.readouterr().err == ""


def test_an_interrupted_fit_leaves_nothing(folder: Path, capsys, monkeypatch):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(PartialAUCClassifier, "fit", interrupted)
    before = sorted(folder.iterdir())
    assert main(fit_line()) == 130
    assert capsys.readouterr().err == "pauc: Interrupted; nothing was written.\n"
    assert sorted(folder.iterdir()) == before


def test_few_negatives_warn_in_one_line(folder: Path, capsys):
    table(0, rows=60).to_csv("train.csv", index=False)
    assert main(fit_line()) == 0
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("pauc: warning: Only")


def _edit(frame: pd.DataFrame, what: str) -> pd.DataFrame:
    if what == "no label":
        return frame.drop(columns="y")
    if what == "one class":
        return frame[frame["y"] == "sick"]
    if what == "infinite":
        frame.loc[6, "dose"] = np.inf
    if what == "decimal commas":
        frame["dose"] = frame["dose"].map("{:.3f}".format).str.replace(".", ",")
    if what == "a word":
        frame["dose"] = frame["dose"].astype(object)
        frame.loc[6, "dose"] = "much"
    if what == "twice":
        frame.columns = ["age", "y", "dose", "age", "patient"]
    if what == "dates":
        frame["dose"] = "2024-03-01"
    if what == "identifiers":
        frame["dose"] = np.arange(len(frame)) + 70000
    if what == "missing label":
        frame.loc[3, "y"] = None
    if what == "empty":
        return frame.iloc[:0]
    if what == "nobody":
        frame["y"] = "well"
    return frame


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        ("no label", "has no column 'y'"),
        ("one class", "every label is 'sick'"),
        ("infinite", "row 7, column 'dose'"),
        ("decimal commas", "'dose' holds numbers that are not written plainly"),
        ("a word", "'dose' holds numbers but for 'much' in row 7"),
        ("twice", "two columns are called 'age'"),
        ("dates", "'dose' holds dates or times"),
        ("identifiers", "'dose' holds identifiers"),
        ("missing label", "row 4: the label 'y' is missing"),
        ("empty", "has no rows"),
        ("nobody", "no label is 'sick'"),
    ],
)
def test_bad_training_data_is_one_sentence_and_exit_1(folder: Path, capsys, what, sentence):
    _edit(table(0), what).to_csv("train.csv", index=False)
    assert main(fit_line()) == 1
    error = capsys.readouterr().err
    assert error.startswith("pauc: ")
    assert len(error.strip().splitlines()) == 1
    assert sentence in error
    assert not (folder / "model.npz").exists()


def test_three_labels_need_a_positive_one(folder: Path, capsys):
    frame = table(0)
    frame.loc[:50, "y"] = "unsure"
    frame.to_csv("train.csv", index=False)
    line = ["fit", "train.csv", "--label", "y", "--quiet", "-o", "model.npz"]
    assert main(line) == 1
    assert "takes 3 values" in capsys.readouterr().err
    assert main([*line, "--positive", "sick"]) == 0


@pytest.mark.parametrize("content", ["", "1 1:a\n", "\x00\x01"])
def test_files_that_are_none(folder: Path, capsys, content):
    Path("odd.txt").write_text(content)
    assert main(["fit", "odd.txt", "--quiet", "-o", "model.npz"]) == 1
    assert main(["fit", "absent.csv", "--label", "y", "-o", "model.npz"]) == 1
    Path("model.npz").write_text(content)
    assert main(["score", "model.npz", "test.csv"]) == 1
    assert main(["score", "absent.npz", "test.csv"]) == 1
    assert len(capsys.readouterr().err.strip().splitlines()) == 4


def test_score_refuses_other_labels_and_columns(folder: Path, capsys):
    line = ["fit", "train.csv", "--label", "y", "--drop", "patient", "--quiet", "-o", "model.npz"]
    assert main(line) == 0
    test = table(1)
    test.loc[2, "y"] = "dead"
    test.loc[test["y"] == "well", "y"] = "dead"
    test.to_csv("test.csv", index=False)
    assert main(["score", "model.npz", "test.csv"]) == 1
    assert "the label dead is none of" in capsys.readouterr().err
    table(1).drop(columns="age").to_csv("test.csv", index=False)
    assert main(["score", "model.npz", "test.csv"]) == 1
    assert "has no column 'age'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "line",
    [
        [],
        ["fit", "train.csv"],
        ["fit", "train.csv", "-o", "m.npz", "--fpr", "0.5", "0.05"],
        ["score", "m.npz", "t.csv", "--at", "2"],
        ["score", "m.npz", "t.csv", "--repeats", "10"],
        ["predict", "m.npz", "t.csv"],
        ["compare", "a.csv", "--label", "y", "--fpr", "0", "1"],
        ["compare", "a.csv", "b.csv", "--label", "y"],
        ["compare", "a.csv", "b.csv", "--label", "y", "--fpr", "1", "0"],
        ["compare", "a.csv", "b.csv", "c.csv", "--label", "y", "--fpr", "0", "1"],
        ["compare", "a.npz", "b.npz"],
        ["compare", "a.npz", "b.csv", "c.csv"],
        ["compare", "a.csv", "b.csv", "--fpr", "0", "1", "--score", "a", "b", "c"],
    ],
)
def test_a_wrong_command_line_is_exit_2(line, capsys):
    with pytest.raises(SystemExit) as caught:
        main(line)
    assert caught.value.code == 2


@pytest.mark.slow
def test_as_a_process(folder: Path):
    line = [sys.executable, "-m", "pauc_core.own_data.command", *fit_line()]
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run(line, capture_output=True, text=True, env={"PYTHONPATH": str(root)})
    assert done.returncode == 0, done.stderr
    assert "model.npz" in done.stdout
