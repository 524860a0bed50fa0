"""Credit-card fraud: a promised false alarm rate, beside the one that later payments show.

    python examples/fraud.py creditcard.csv

creditcard.csv is the table of Dal Pozzolo et al. (OpenML data set 1597): 284,807 payments of two
days, 492 of them fraud. Without a file, or where there is none, a small made-up twin takes its
place. The model learns from the first 70 % of the time and is looked at on the rest. A promise is
for payments that come as those of training did; nothing can be promised where habits drift, and
fraud does: compare the last two lines.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pauc_core import PartialAUCClassifier, compare_pauc, pauc_interval

BAND = {"fpr_low": 0.0, "fpr_high": 0.01}
RATE, CONFIDENCE = 0.005, 0.95


def twin(rows: int = 12_000, seed: int = 0) -> pd.DataFrame:
    """Payments like the real ones: few frauds, heavy tails, and habits that change a little."""
    rng = np.random.default_rng(seed)
    fraud = rng.random(rows) < 0.012
    columns = rng.standard_t(4, size=(rows, 8))
    columns[fraud, :3] += rng.normal([2.5, -2.0, 1.5], 1.5, size=(fraud.sum(), 3))
    time = np.sort(rng.uniform(0, 172_800, size=rows))
    table = pd.DataFrame(columns, columns=[f"V{i + 1}" for i in range(8)])
    table["Amount"] = rng.lognormal(3.0 + fraud, 1.2)
    return table.assign(Time=time, Class=fraud.astype(int))


def main(path: str | None = None) -> dict[str, float]:
    """Fit on the earlier payments, look at the later ones, print what was promised and seen."""
    real = path is not None and Path(path).is_file()
    table = (pd.read_csv(path) if real else twin()).sort_values("Time", kind="stable")
    print(path if real else "a made-up twin of the table", "-", len(table), "payments")
    y = table["Class"].to_numpy() == 1
    x = table.drop(columns=["Class", "Time"])
    early = np.arange(len(y)) < round(0.7 * len(y))

    model = PartialAUCClassifier(
        **BAND, predict_fpr=RATE, confidence=CONFIDENCE, random_state=0
    ).fit(x[early], y[early])
    plain = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    plain.fit(x[early], y[early])

    later, fraud = x[~early], y[~early]
    ours, theirs = model.decision_function(later), plain.decision_function(later)
    found = pauc_interval(fraud, ours, **BAND)
    gain = compare_pauc(fraud, ours, theirs, **BAND)
    alarms = model.predict(later)
    seen = alarms[~fraud].mean()
    print(f"pAUC in [0, 0.01]      {found.value:.4f} ({found.low:.4f} to {found.high:.4f})")
    print(f"logistic regression    {gain.difference:+.4f} below ours, p = {gain.p_value:.2g}")
    print(f"frauds found           {alarms[fraud].sum()} of {fraud.sum()}")
    print(f"negatives set apart    {len(model.set_apart_)}")
    print(f"promised               {RATE:.4f} at most, with confidence {CONFIDENCE}")
    print(f"seen on later payments {seen:.4f}")
    return {"pauc": found.value, "gain": gain.difference, "promised": RATE, "seen": float(seen)}


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
