"""Write three small tables of made-up hospital visits, as untidy as real ones.

    python examples/visits.py

writes visits-train.csv, visits-test.csv and, without labels, visits-new.csv.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

WARDS = {"surgery": 0.8, "medicine": 0.0, "maternity": -1.0, "eyes": -0.5, "burns": 1.5}


def visits(seed: int, rows: int) -> pd.DataFrame:
    """Rows with a number, a date, words, holes, and a rare label that hangs on most of them."""
    rng = np.random.default_rng(seed)
    ward = rng.choice(list(WARDS), size=rows, p=[0.3, 0.4, 0.2, 0.097, 0.003])
    age, sodium = rng.normal(55, 15, size=rows), rng.normal(140, 3, size=rows)
    smokes = rng.choice(["yes", "no"], size=rows, p=[0.25, 0.75])
    unmeasured = rng.random(rows) < 0.7
    risk = 0.05 * (age - 55) + pd.Series(ward).map(WARDS).to_numpy() + 0.8 * (smokes == "yes")
    risk += np.where(unmeasured, -0.7, 0.4 * np.abs(sodium - 140)) + rng.logistic(size=rows)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(366, size=rows), unit="D")
    return pd.DataFrame(
        {
            "visit": 100_000 * (seed + 1) + np.arange(rows),
            "admitted": days.strftime("%Y-%m-%d"),
            "ward": ward,
            "age": age.round(1),
            "sodium": np.where(unmeasured, np.nan, sodium.round(1)),
            "smokes": smokes,
            "readmitted": np.where(risk > 2.9, "yes", "no"),
        }
    )


def main() -> None:
    visits(0, 4000).to_csv("visits-train.csv", index=False)
    visits(1, 2000).to_csv("visits-test.csv", index=False)
    visits(2, 500).drop(columns="readmitted").to_csv("visits-new.csv", index=False)


if __name__ == "__main__":
    main()
