"""The command on tables as people have them: fitted, kept in the model file, applied later."""

from __future__ import annotations

import gzip
import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pauc_core import PartialAUCClassifier, compare_pauc, pauc, pauc_interval
from pauc_core.own_data.command import main

RED = {"red": 1.5, "blue": 0.0, "pink": -0.5}


def messy(seed: int, rows: int = 1200) -> pd.DataFrame:
    """Numbers with holes, words, answers, a code and an index: the label hangs on all of them."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(50, 10, size=rows),
            "colour": rng.choice(["red", "blue", "pink"], size=rows, p=[0.3, 0.5, 0.2]),
            "smoker": rng.random(rows) < 0.3,
            "ward": rng.choice(["007", "042", "303"], size=rows),
        }
    )
    gone = rng.random(rows) < 0.2
    sum_ = (frame["age"] - 50) / 10 + frame["colour"].map(RED) + frame["smoker"] + 1.5 * gone
    sum_ += (frame["ward"] == "042") + rng.logistic(size=rows)
    frame["y"] = np.where(sum_ > 3, "sick", "well")
    frame.loc[gone, "age"] = np.nan
    return frame


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    messy(0).to_csv("train.csv")
    messy(1).to_csv("test.csv")
    return tmp_path


FIT = ["fit", "train.csv", "--label", "y", "--positive", "sick", "--text", "ward", "--quiet"]


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model of `FIT`, made once."""
    path = tmp_path_factory.mktemp("fitted")
    messy(0).to_csv(path / "train.csv")
    line = [str(path / word) if word == "train.csv" else word for word in FIT]
    assert main([*line, "-o", str(path / "model.npz")]) == 0
    return path / "model.npz"


@pytest.fixture
def model(folder: Path, fitted: Path) -> Path:
    return Path(shutil.copy(fitted, folder))


def read(capsys) -> dict:
    return json.loads(capsys.readouterr().out)


def by_hand(frame: pd.DataFrame, train: pd.DataFrame) -> np.ndarray:
    """The columns that `FIT` makes, the obvious way."""
    columns = [frame["age"].fillna(train["age"].median()), frame["age"].isna()]
    columns += [frame["colour"] == word for word in ("blue", "pink", "red")]
    columns += [frame["smoker"]] + [frame["ward"] == ward for ward in ("007", "042", "303")]
    return np.column_stack(columns).astype(np.float64)


def test_a_messy_table_is_fitted_and_scored_as_if_encoded_by_hand(folder, capsys):
    assert main([*FIT, "-o", "model.npz", "--json"]) == 0
    fitted = read(capsys)
    assert fitted["columns"] == {"numbers": 2, "words": 2, "features": 9}
    assert fitted["left_out"] == ["the first column, which has no name and counts as an index"]
    assert fitted["positive_class"] == "sick"
    train, test = messy(0), messy(1)
    hand = PartialAUCClassifier(random_state=0)
    hand.fit(by_hand(train, train), (train["y"] == "sick").to_numpy())
    assert fitted["held_out_pauc"] == pytest.approx(hand.validation_score_, abs=1e-12)
    assert main(["score", "model.npz", "test.csv", "--json"]) == 0
    scored = read(capsys)
    positive = (test["y"] == "sick").to_numpy()
    scores = hand.decision_function(by_hand(test, train))
    expected = pauc_interval(positive, scores, fpr_low=0.05, fpr_high=0.5)
    assert scored["pauc"] == pytest.approx(expected.value, abs=1e-9)
    assert scored["interval"] == pytest.approx([expected.low, expected.high], abs=1e-9)
    assert scored["pauc"] > 0.6
    assert (scored["rows"], scored["positives"]) == (len(test), positive.sum())


def test_the_model_file_holds_no_pickle(model):
    with np.load("model.npz", allow_pickle=False) as file:
        assert "colour" in str(file["origin"])
    with zipfile.ZipFile("model.npz") as archive:
        assert all(b"pickle" not in archive.read(name) for name in archive.namelist())


def test_the_same_rows_in_other_clothes_score_the_same(folder, model, capsys):
    test = messy(1)
    test.to_csv("a.csv", index=False, sep=";")
    test[test.columns[::-1]].to_csv("b.tsv", index=False, sep="\t")
    Path("c.csv.gz").write_bytes(gzip.compress(test.to_csv(index=False).encode()))
    test.astype({"colour": "category", "ward": "category", "smoker": "boolean"}).to_parquet(
        "d.parquet"
    )
    found = []
    for name in ("test.csv", "a.csv", "b.tsv", "c.csv.gz", "d.parquet"):
        assert main(["score", "model.npz", name, "--json"]) == 0
        found.append(read(capsys))
    assert all(one == found[0] for one in found)


def test_a_table_of_many_words_is_fitted_sparse(folder, capsys):
    train = messy(0)
    names = np.random.default_rng(0).choice([f"town {i}" for i in range(60)], size=len(train))
    train.assign(town=names)[["town", "colour", "y"]].to_csv("train.csv", index=False)
    line = ["fit", "train.csv", "--label", "y", "--positive", "sick", "--quiet", "-o", "m.npz"]
    assert main(line) == 0
    assert ": 54 features" in capsys.readouterr().out
    assert not hasattr(PartialAUCClassifier.load("m.npz"), "feature_names_in_")
    assert main(["score", "m.npz", "train.csv", "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["pauc"] > 0.3
    assert captured.err == ""


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda t: t.assign(age="old"), "row 1: the column 'age' was numbers in training and"),
        (lambda t: t.drop(columns="colour"), "has no column 'colour'"),
        (lambda t: t[t["y"] == "sick"], "every label is 'sick'"),
        (lambda t: t.drop(columns="y"), "has no column 'y'"),
        (lambda t: t.iloc[:0], "has no rows"),
        (lambda t: t.assign(age=np.inf), "row 1, column 'age': an infinite value"),
    ],
)
def test_a_table_that_changed_is_one_sentence(folder, model, capsys, change, sentence):
    change(messy(1)).to_csv("test.csv", index=False)
    assert main(["score", "model.npz", "test.csv", "--roc", "roc.png"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert sentence in captured.err
    assert len(captured.err.strip().splitlines()) == 1
    assert not Path("roc.png").exists()


def test_libsvm_rows_are_none_for_a_model_of_a_table(model, capsys):
    Path("test.txt").write_text("1 1:2\n0 2:1\n")
    assert main(["score", "model.npz", "test.txt"]) == 1
    assert "was fitted to a table with names" in capsys.readouterr().err


def test_new_holes_and_new_words_are_warnings(folder, model, capsys):
    test = messy(1)
    test["smoker"] = test["smoker"].astype(object)
    test.loc[:4, "smoker"] = None
    test["colour"] = "green"
    test.to_csv("test.csv", index=False)
    assert main(["score", "model.npz", "test.csv"]) == 0
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 2
    assert "None of the values of 'colour' in test.csv was seen in training" in lines[0]
    assert "5 missing values in 'smoker'" in lines[1]


def test_predict_takes_rows_without_labels(folder, model, capsys):
    test = messy(1)
    line = ["predict", "model.npz", "test.csv", "-o", "scores.csv"]
    assert main([*line, "--json"]) == 0
    counts = read(capsys)
    scores = pd.read_csv("scores.csv")
    assert list(scores.columns) == ["y", "score", "probability", "predicted"]
    assert scores["y"].tolist() == test["y"].tolist()
    assert ((scores["score"] > 0) == (scores["predicted"] == "sick")).all()
    assert counts["predicted"] == {
        "sick": int((scores["score"] > 0).sum()), "well": int((scores["score"] <= 0).sum())
    }  # fmt: skip
    assert main(["score", "model.npz", "test.csv", "--json"]) == 0
    area = pauc(scores["y"] == "sick", scores["score"], fpr_low=0.05, fpr_high=0.5)
    assert read(capsys)["pauc"] == area
    test.drop(columns="y").assign(name=[f"p{i}" for i in range(len(test))]).to_csv("new.csv")
    assert main(["predict", "model.npz", "new.csv", "--keep", "name", "-o", "new.tsv"]) == 0
    bare = pd.read_csv("new.tsv", sep="\t")
    assert list(bare.columns) == ["name", "score", "probability", "predicted"]
    np.testing.assert_array_equal(bare["score"], scores["score"])
    test.loc[3:, "y"] = None
    test.to_csv("half.csv")
    assert main(["predict", "model.npz", "half.csv", "-o", "half-scores.csv"]) == 0
    half = pd.read_csv("half-scores.csv")
    assert half["y"].notna().sum() == 3
    np.testing.assert_array_equal(half["score"], scores["score"])


def test_predict_leaves_nothing_behind_when_it_fails(folder, model, capsys):
    before = sorted(folder.iterdir())
    messy(1).drop(columns="age").to_csv("test.csv")
    assert main(["predict", "model.npz", "test.csv", "-o", "scores.csv"]) == 1
    assert main(["predict", "model.npz", "test.csv", "-o", "no/folder.csv"]) == 1
    assert main(["predict", "model.npz", "test.csv", "-o", str(folder)]) == 1
    assert main(["predict", "model.npz", "test.csv", "--keep", "x", "-o", "s.csv"]) == 1
    assert main([*FIT, "-o", "no/model.npz"]) == 1
    assert sorted(folder.iterdir()) == before
    lines = capsys.readouterr().err.strip().splitlines()
    reasons = ["no column 'age'", "no folder no", "is a folder", "no column 'x'", "no folder no"]
    assert all(reason in line for reason, line in zip(reasons, lines, strict=True))


def test_a_model_saved_from_python_is_scored_by_names_or_by_place(folder, capsys):
    train = messy(0).assign(noise=np.random.default_rng(0).random(1200))
    x, y = train[["smoker", "noise"]].astype(float), (train["y"] == "sick").astype(int)
    PartialAUCClassifier(random_state=0).fit(x, y).save("named.npz")
    PartialAUCClassifier(random_state=0).fit(x.to_numpy(), y).save("bare.npz")
    x.assign(y=y).to_csv("test.csv", index=False)
    found = []
    for model in ("named.npz", "bare.npz"):
        assert main(["score", model, "test.csv", "--label", "y", "--json"]) == 0
        found.append(read(capsys))
    assert found[0] == found[1]
    assert main(["score", "bare.npz", "test.csv"]) == 1
    assert "--label" in capsys.readouterr().err
    x.assign(y=y, more=1).to_csv("test.csv", index=False)
    assert main(["score", "bare.npz", "test.csv", "--label", "y"]) == 1
    assert "3 columns of features" in capsys.readouterr().err


# ---- compare -------------------------------------------------------------------------------------
@pytest.fixture
def rivals(folder, capsys) -> Path:
    rng = np.random.default_rng(5)
    y = (rng.random(800) < 0.2).astype(int)
    good, poor = y + rng.normal(size=(2, 800)) * [[0.7], [1.2]]
    frame = pd.DataFrame({"id": [f"{i:04d}" for i in range(800)], "y": y, "score": good})
    frame.to_csv("a.csv", index=False)
    frame.assign(score=poor).to_csv("b.csv", index=False)
    frame.assign(score=poor).sample(frac=1, random_state=0)[["score", "id"]].to_csv(
        "shuffled.csv", index=False
    )
    return folder


COMPARE = ["compare", "a.csv", "b.csv", "--label", "y", "--fpr", "0", "0.1"]


def test_two_files_of_scores(rivals, capsys):
    assert main([*COMPARE, "--roc", "r.png", "--json"]) == 0
    found = read(capsys)
    a, b = pd.read_csv("a.csv"), pd.read_csv("b.csv")
    band = {"fpr_low": 0.0, "fpr_high": 0.1}
    paired = compare_pauc(a["y"], a["score"], b["score"], **band)
    assert found["difference"] == paired.difference
    assert found["interval"] == [paired.low, paired.high]
    assert found["p_value"] == paired.p_value
    for key, frame in (("first", a), ("second", b)):
        one = pauc_interval(frame["y"], frame["score"], **band)
        assert found[key]["pauc"] == one.value
        assert found[key]["interval"] == [one.low, one.high]
    assert Path("r.png").read_bytes()[:4] == b"\x89PNG"
    assert main(COMPARE) == 0
    printed = capsys.readouterr().out
    assert f"{paired.difference:+.4f}, 95 % {paired.low:+.4f} to {paired.high:+.4f}" in printed


def test_rows_are_matched_by_an_identifier(rivals, capsys):
    assert main([*COMPARE, "--json"]) == 0
    by_order = read(capsys)
    line = ["compare", "a.csv", "shuffled.csv", "--label", "y", "--fpr", "0", "0.1", "--id", "id"]
    assert main([*line, "--json"]) == 0
    by_name = read(capsys)
    assert by_name["difference"] == by_order["difference"]
    assert by_name["p_value"] == by_order["p_value"]


def test_two_columns_of_one_file(rivals, capsys):
    both = pd.read_csv("a.csv").rename(columns={"score": "new"})
    both["old"] = pd.read_csv("b.csv")["score"]
    both.to_csv("both.csv", index=False)
    assert main([*COMPARE, "--json"]) == 0
    expected = read(capsys)
    line = ["compare", "both.csv", "both.csv", "--label", "y", "--fpr", "0", "0.1", "--json"]
    assert main([*line, "--score", "new", "old", "--roc", "r.png"]) == 0
    found = read(capsys)
    assert found["difference"] == expected["difference"]
    assert found["second"]["from"] == "both.csv, old"
    assert main(line) == 1
    assert "name it with --score" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "more", "sentence"),
    [
        (lambda b: b[::-1], [], "and disagree on"),
        (lambda b: b[:-1], [], "has 800 rows and b.csv 799"),
        (lambda b: b.drop(columns="y"), [], "b.csv has no column 'y'"),
        (lambda b: b.drop(columns="score"), ["--score", "score"], "has no column 'score'"),
        (lambda b: b.assign(score="high"), [], "row 1: the score high in 'score' is no number"),
        (lambda b: b.assign(score=np.nan), [], "row 1: the score nan in 'score' is no number"),
        (lambda b: b.assign(y=1), [], "b.csv: the label takes only one value"),
        (lambda b: b.assign(y=[None, *b["y"][1:]]), [], "row 1: the label 'y' is missing"),
        (lambda b: b.drop(columns="id"), ["--id", "id"], "b.csv has no column 'id'"),
        (lambda b: b[:-2], ["--id", "id"], "lacks the row whose 'id' is '0798' (and 1 more)"),
        (
            lambda b: b.assign(id=7),
            ["--id", "id"],
            "row 2: the identifier '7' in 'id' occurs twice",
        ),
        (lambda b: b.assign(id=None), ["--id", "id"], "the identifier in 'id' is missing"),
        (lambda b: b.assign(y=1 - b["y"]), ["--id", "id"], "check the labels"),
        (lambda b: b, ["--positive", "2"], "no label is '2'"),
        (lambda b: b, ["--group", "town"], "has no column 'town'"),
    ],
)
def test_files_that_cannot_be_compared_are_one_sentence(rivals, capsys, change, more, sentence):
    change(pd.read_csv("b.csv", dtype={"id": str})).to_csv("b.csv", index=False)
    assert main([*COMPARE, *more, "--roc", "r.png"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert sentence in captured.err
    assert len(captured.err.strip().splitlines()) == 1
    assert not Path("r.png").exists()


def test_groups_widen_an_interval(rivals, capsys):
    for name in ("a.csv", "b.csv"):
        one = pd.read_csv(name)
        four = pd.concat([one] * 4)
        if name == "b.csv":  # it may be in one of the files or in both
            four = four.assign(patient=list(one["id"]) * 4)
        four.to_csv(name, index=False)
    assert main([*COMPARE, "--json"]) == 0
    alone = read(capsys)
    assert main([*COMPARE, "--group", "patient", "--json"]) == 0
    together = read(capsys)
    assert together["standard_error"] == pytest.approx(2 * alone["standard_error"], rel=0.02)
    assert together["first"]["standard_error"] > alone["first"]["standard_error"]


def test_groups_widen_the_interval_of_a_score(model, capsys):
    test = messy(1).assign(patient=[f"p{i}" for i in range(1200)])
    pd.concat([test] * 4).to_csv("test.csv", index=False)
    assert main(["score", "model.npz", "test.csv", "--json"]) == 0
    alone = read(capsys)
    assert main(["score", "model.npz", "test.csv", "--group", "patient", "--json"]) == 0
    together = read(capsys)
    assert together["pauc"] == alone["pauc"]
    assert together["standard_error"] == pytest.approx(2 * alone["standard_error"], rel=0.02)


def test_two_models_and_a_table(model, capsys):
    model.rename("a.npz")
    assert main([*FIT, "--drop", "colour", "-o", "b.npz"]) == 0
    for name in "ab":
        line = ["predict", f"{name}.npz", "test.csv", "-o", f"{name}.csv"]
        assert main(line) == 0
    capsys.readouterr()
    assert main(["compare", "a.npz", "b.npz", "test.csv", "--json", "--roc", "r.png"]) == 0
    models = read(capsys)
    assert models["band"] == {"fpr_low": 0.05, "fpr_high": 0.5}
    assert models["difference"] > 0
    line = ["compare", "a.csv", "b.csv", "--label", "y", "--positive", "sick", "--json"]
    assert main([*line, "--fpr", "0.05", "0.5"]) == 0
    files = read(capsys)
    assert models["difference"] == files["difference"]
    assert models["interval"] == files["interval"]
    assert main([*FIT, "--fpr", "0", "0.1", "-o", "b.npz"]) == 0
    assert main(["compare", "a.npz", "b.npz", "test.csv"]) == 1
    assert "different bands" in capsys.readouterr().err
    assert main(["compare", "a.npz", "b.npz", "test.csv", "--fpr", "0", "0.1"]) == 0
    well = [word if word != "sick" else "well" for word in FIT]
    assert main([*well, "-o", "b.npz"]) == 0
    capsys.readouterr()
    assert main(["compare", "a.npz", "b.npz", "test.csv"]) == 1
    assert "fit both for the same positive label" in capsys.readouterr().err


# ---- weights, true positive rates, a promised rate ----------------------------------------------
def test_weights_come_from_a_column(folder, capsys):
    """A weight of 2 scores as the row twice, and 0 as the row left out."""
    train, test = messy(0), messy(1)
    weights = np.arange(len(test)) % 3
    train.assign(w=1.0 + (train["y"] == "sick")).to_csv("train.csv")
    assert main([*FIT, "--weight", "w", "-o", "model.npz"]) == 0
    test.assign(w=weights).to_csv("weighted.csv")
    test.iloc[np.repeat(np.arange(len(test)), weights)].to_csv("repeated.csv")
    capsys.readouterr()
    assert main(["score", "model.npz", "weighted.csv", "--weight", "w", "--json"]) == 0
    weighted = read(capsys)
    assert main(["score", "model.npz", "repeated.csv", "--json"]) == 0
    repeated = read(capsys)
    for key in ("pauc", "auc"):
        assert weighted[key] == pytest.approx(repeated[key], abs=1e-12)
    for one, other in zip(weighted["rates"], repeated["rates"], strict=True):
        assert one == pytest.approx(other, abs=1e-12)
    both = ["compare", "model.npz", "model.npz", "weighted.csv", "--weight", "w", "--json"]
    assert main([*both, "--roc", "r.png"]) == 0
    found = read(capsys)
    assert found["first"]["pauc"] == weighted["pauc"]
    assert found["difference"] == 0.0


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        (lambda n: [-1.0] + [1.0] * (n - 1), "the weight 'w' holds a number below 0"),
        (lambda n: [0.0] * n, "train.csv: the weight 'w'"),
        (lambda n: [np.inf] * n, "the weight 'w' holds NaN or infinite values"),
        (lambda n: [1.0, None] + [1.0] * (n - 2), "row 2: the weight nan in 'w' is no number"),
        (lambda n: [1.0, "much"] + [1.0] * (n - 2), "row 2: the weight much in 'w' is no number"),
    ],
)
def test_weights_that_are_none_are_one_sentence(folder, capsys, weights, sentence):
    train = messy(0)
    train.assign(w=weights(len(train))).to_csv("train.csv")
    assert main([*FIT, "--weight", "w", "-o", "model.npz"]) == 1
    error = capsys.readouterr().err
    assert sentence in error
    assert len(error.strip().splitlines()) == 1
    assert not Path("model.npz").exists()


def test_a_band_of_true_positive_rates(folder, capsys):
    assert main([*FIT, "--tpr", "0.8", "1", "-o", "model.npz"]) == 0
    assert "in TPR [0.8, 1]" in capsys.readouterr().out
    assert main(["predict", "model.npz", "test.csv", "-o", "scores.csv"]) == 0
    capsys.readouterr()
    assert main(["score", "model.npz", "test.csv", "--roc", "r.png", "--json"]) == 0
    found = read(capsys)
    assert found["band"] == {"tpr_low": 0.8, "tpr_high": 1.0}
    scores = pd.read_csv("scores.csv")
    positive = scores["y"] == "sick"
    assert found["pauc"] == pauc(positive, scores["score"], tpr_low=0.8, tpr_high=1.0)
    line = ["compare", "scores.csv", "scores.csv", "--label", "y", "--positive", "sick"]
    assert main([*line, "--tpr", "0.8", "1", "--json"]) == 0
    assert read(capsys)["first"]["pauc"] == found["pauc"]


def test_a_true_positive_rate_to_predict_at(folder, capsys):
    assert main([*FIT, "--predict-tpr", "0.9", "-o", "model.npz"]) == 0
    assert "predict           at a TPR of 0.9" in capsys.readouterr().out
    assert main(["score", "model.npz", "test.csv", "--json"]) == 0
    assert read(capsys)["rates"][-1]["tpr"] == pytest.approx(0.9, abs=0.05)


def test_a_promised_rate(folder, capsys):
    promise = ["--predict-fpr", "0.05", "--confidence", "0.95"]
    assert main([*FIT, *promise, "-o", "model.npz", "--json"]) == 0
    fitted = read(capsys)
    assert fitted["confidence"] == 0.95
    assert fitted["set_apart"] >= 59
    assert main([*FIT, "--predict-fpr", "0.001", "--confidence", "0.95", "-o", "m.npz"]) == 1
    assert "2995" in capsys.readouterr().err.replace(",", "")
    assert main([*FIT, *promise, "--weight", "ward", "-o", "m.npz"]) == 1
    assert "do not go together" in capsys.readouterr().err
    assert not Path("m.npz").exists()


def test_probabilities_rank_as_scores_do(folder, model, capsys):
    assert main(["predict", "model.npz", "test.csv", "-o", "scores.csv"]) == 0
    scores = pd.read_csv("scores.csv").sort_values("score")
    assert scores["probability"].between(0, 1).all()
    assert scores["probability"].is_monotonic_increasing
    positive = scores["y"] == "sick"
    assert scores["probability"].mean() == pytest.approx(positive.mean(), abs=0.05)


def test_columns_handed_on_keep_their_names_and_answers_stay_numbers(
    folder: Path, fitted: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["predict", str(fitted), "test.csv", "-o", "out.csv"]
    assert main([*line, "--keep", "smoker", "ward"]) == 0
    kept, plain = pd.read_csv("out.csv"), messy(1)
    assert kept["smoker"].tolist() == plain["smoker"].tolist()
    assert main(line) == 0
    np.testing.assert_array_equal(pd.read_csv("out.csv")["score"], kept["score"])
    assert main([*line[:-1], "out.parquet"]) == 0
    np.testing.assert_allclose(pd.read_parquet("out.parquet")["score"], kept["score"])
    plain.rename(columns={"age": "score"}).assign(age=plain["age"]).to_csv("named.csv")
    assert main(["predict", str(fitted), "named.csv", "-o", "no.csv", "--keep", "score"]) == 1
    assert "its column 'score' would take the place of ours" in capsys.readouterr().err
    assert not Path("no.csv").exists()


@pytest.mark.parametrize("option", [["--id", "a"], ["--positive", "sick"], ["--score", "a"]])
def test_two_models_have_no_options_of_files_of_scores(
    folder: Path, fitted: Path, option: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", str(fitted), str(fitted), "test.csv", *option]) == 1
    assert f"{option[0]} is for two files of scores" in capsys.readouterr().err
