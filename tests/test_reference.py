"""The paper as data: every printed number is in reference/, and the claims are well formed."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pandas as pd
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "reference"
LABELS = {  # \label of each table in the paper's source
    "table1": "train_pauc_svm",
    "table2": "val_pauc",
    "table3": "val_pauc_lt",
    "table4": "table_sumofrank",
    "table5": "data_lt",
    "table6": "val_pauc_mu",
}
NUMBERS = {"table1": 45, "table2": 80, "table3": 16, "table4": 8, "table5": 4, "table6": 30}


@pytest.fixture(scope="module")
def tables() -> pd.DataFrame:
    return pd.read_csv(REFERENCE / "tables.csv", dtype=str, keep_default_na=False)


@pytest.fixture(scope="module")
def paper() -> str:
    path = Path(os.environ.get("PAUC_PAPER", ROOT.parent / "shared" / "paper" / "paper.tex"))
    if not path.is_file():
        pytest.skip("The paper's source is not at hand: set PAUC_PAPER to paper.tex to check.")
    return path.read_text(encoding="utf-8")


def body_rows(paper: str, label: str) -> list[list[str]]:
    """Cells of a table's numeric rows: those after the first rule, without the row's name."""
    start = paper.index(rf"\label{{{label}}}")
    text = paper[start : paper.index(r"\end{tabular}", start)]
    text = text.split(r"\midrule", 1)[1]
    text = re.sub(r"\\(midrule|bottomrule)", "", text)
    text = re.sub(r"\\multirow\{\d\}\{[^}]*\}\s*\{[^{}]*\}", "", text)
    rows = [[cell.strip() for cell in line.split("&")] for line in text.split(r"\\")]
    return [row for row in rows if len(row) > 2 and re.search(r"\d", row[-1])]


def printed(cell: str) -> list[str]:
    """Numbers of one cell as printed; names such as D1 and powers of ten are no cells."""
    plain = re.sub(r"\\textbf|[{}$]", "", cell).replace(r"\pm", " ").replace(",", "")
    return re.findall(r"\d+(?:\.\d+)?", plain)


@pytest.mark.parametrize("artifact", LABELS)
def test_every_number_of_the_paper_is_there(
    artifact: str, tables: pd.DataFrame, paper: str
) -> None:
    lead = {"table1": 1, "table2": 2, "table3": 2, "table4": 1, "table5": 3, "table6": 2}[artifact]
    rows = body_rows(paper, LABELS[artifact])
    theirs = [number for row in rows for cell in row[lead:] for number in printed(cell)]
    mine = tables[tables.artifact == artifact]
    ours = [n for pair in zip(mine["mean"], mine.deviation, strict=True) for n in pair if n]
    assert ours == theirs
    assert len(ours) == NUMBERS[artifact]


def test_places_name_the_row_of_each_number(tables: pd.DataFrame, paper: str) -> None:
    for artifact, label in LABELS.items():
        names = tables[tables.artifact == artifact].place.str.extract(r"row ([^,]+),")[0].unique()
        text = paper[paper.index(rf"\label{{{label}}}") :]
        text = text[: text.index(r"\end{tabular}")].replace("$_{pAUC}$", "_pAUC")
        for name in names:
            key = name.removeprefix("mu = ").split("/")[0].replace("10^10", "10^{10}")
            assert key in text, f"{artifact}: no row {name}"


def test_183_numbers_each_with_a_place_of_its_own(tables: pd.DataFrame) -> None:
    assert len(tables) + (tables.deviation != "").sum() == 183
    assert tables.place.is_unique
    assert not tables.duplicated(["artifact", "dataset", "method", "metric"]).any()
    for name, part in tables.groupby("artifact"):
        assert len(part) + (part.deviation != "").sum() == NUMBERS[name]


def test_claims_are_named_placed_and_computable() -> None:
    from pauc_core.report.claims import JUDGES

    claims = yaml.safe_load((REFERENCE / "claims.yaml").read_text(encoding="utf-8"))["claims"]
    names = [claim["name"] for claim in claims]
    assert len(set(names)) == len(names)
    for claim in claims:
        assert claim["place"], claim["name"]
        assert claim["statement"], claim["name"]
        assert claim["judge"] in JUDGES, claim["name"]
        assert claim["kind"] in {"claim", "question"}


def test_deviations_are_numbered_in_order() -> None:
    text = (REFERENCE / "deviations.md").read_text(encoding="utf-8")
    numbers = [int(n) for n in re.findall(r"^## (\d+)\. ", text, flags=re.MULTILINE)]
    assert numbers == list(range(1, len(numbers) + 1))
    for section in re.split(r"^## \d+\. ", text, flags=re.MULTILINE)[1:]:
        for part in ("The paper:", "Here:", "Why:", "Setting:", "Effect:"):
            assert part in section, section.splitlines()[0]
