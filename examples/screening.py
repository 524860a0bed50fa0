"""A screening problem that logistic regression loses: the band [0.02, 0.2] on generated data.

One negative in a hundred has an artefact that looks sicker than any patient. Nobody can sort these
out with the two measurements at hand, so a screening that tolerates 2 % false alarms ignores them;
logistic regression bends its line to please them. Run it as

    python examples/screening.py screening.png
"""

from __future__ import annotations

import sys

import numpy as np
from matplotlib.figure import Figure
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pauc_core import PartialAUCClassifier, pauc
from pauc_core.metrics import roc_curve_points

LOW, HIGH = 0.02, 0.2


def patients(seed: int, rows: int = 20_000) -> tuple[np.ndarray, np.ndarray]:
    """Two measurements of each patient, and who is sick."""
    rng = np.random.default_rng(seed)
    sick = rng.random(rows) < 0.05
    x = rng.normal(size=(rows, 2))
    x[sick] += [1.8, 0.8]
    x[~sick & (rng.random(rows) < 0.01), 0] += 10.0
    return x, sick


def main(picture: str) -> dict[str, float]:
    """Fit both, print their test pAUC in the band and draw their ROC curves."""
    x, sick = patients(seed=0)
    test_x, test_sick = patients(seed=1)
    models = {
        "logistic regression": make_pipeline(StandardScaler(), LogisticRegression()),
        "partial AUC": PartialAUCClassifier(LOW, HIGH, predict_fpr=0.1, random_state=0),
    }
    figure = Figure(figsize=(6, 4), dpi=120, layout="constrained")
    axes = figure.subplots()
    axes.axvspan(LOW, HIGH, color="0.92")
    areas = {}
    for (name, model), style in zip(models.items(), ("--", "-"), strict=True):
        scores = model.fit(x, sick).decision_function(test_x)
        areas[name] = pauc(test_sick, scores, fpr_low=LOW, fpr_high=HIGH)
        fpr, tpr, _ = roc_curve_points(test_sick, scores)
        axes.plot(fpr, tpr, style, color="black", label=f"{name}, pAUC {areas[name]:.3f}")
        print(f"{name:20} pAUC in [{LOW}, {HIGH}]: {areas[name]:.4f}")
    found = models["partial AUC"].predict(test_x)
    print(
        f"at the threshold for FPR 0.1: FPR {found[~test_sick].mean():.3f}, "
        f"TPR {found[test_sick].mean():.3f}"
    )
    axes.set(xlabel="false positive rate", ylabel="true positive rate", xlim=(0, 0.4))
    axes.legend(frameon=False)
    figure.savefig(picture)
    return areas


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "screening.png")
