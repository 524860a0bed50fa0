"""How often intervals hold the truth, by simulation: scores are normal in both classes.

``python -m tests.interval_coverage docs/intervals.md`` measures every setting and writes the
tables between the page's markers.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import stats
from scipy.optimize import brentq

from pauc_core.files import write_text
from pauc_core.intervals import Comparison, Interval, compare_pauc, pauc_interval

DRAWS = 4000
BEGIN, END = "<!-- {}: begin -->", "<!-- {}: end -->"


@dataclass(frozen=True)
class Setting:
    """Rows, band and true pAUC; scores are rounded to multiples of `grid`.

    With `rival`, a second model of that pAUC whose scores correlate with the first's by `rho`.
    """

    n_pos: int
    n_neg: int
    low: float
    high: float
    pauc: float
    grid: float = 0.0
    rival: float | None = None
    rho: float = 0.0

    def __str__(self) -> str:
        other = "" if self.rival is None else f"-{self.rival:g}-{self.rho:g}"
        tied = f"-ties{self.grid:g}" if self.grid else ""
        rows = f"{self.n_pos}+{self.n_neg}"
        return f"{rows}-[{self.low:g},{self.high:g}]-{self.pauc:g}{other}{tied}"


# The band holds at least 10 negatives and N+ (1 - pAUC) is at least 10.
WITHIN = [
    Setting(100, 1000, 0.0, 0.01, 0.8),
    Setting(1000, 1000, 0.0, 0.01, 0.3),
    Setting(1000, 5000, 0.0, 0.01, 0.5),
    Setting(100, 100, 0.0, 0.1, 0.5),
    Setting(100, 1000, 0.0, 0.1, 0.9),
    Setting(1000, 100, 0.0, 0.1, 0.9),
    Setting(300, 1000, 0.0, 0.1, 0.6, grid=0.5),
    Setting(100, 1000, 0.05, 0.5, 0.9),
    Setting(1000, 1000, 0.05, 0.5, 0.99),
    Setting(300, 1000, 0.05, 0.5, 0.9, grid=1.0),
    Setting(100, 100, 0.2, 0.3, 0.7),
    Setting(1000, 300, 0.2, 0.3, 0.9),
    Setting(300, 300, 0.2, 0.3, 0.8, grid=1.0),
    Setting(100, 100, 0.0, 1.0, 0.8),
]
ELSEWHERE = [
    Setting(1000, 100, 0.0, 0.1, 0.98),
    Setting(1000, 100, 0.2, 0.3, 0.9),
    Setting(100, 5000, 0.0, 0.01, 0.03),
    Setting(100, 500, 0.05, 0.5, 0.99),
    Setting(30, 300, 0.05, 0.5, 0.8),
    Setting(30, 300, 0.05, 0.5, 0.99),
    Setting(30, 3000, 0.05, 0.5, 0.99),
    Setting(30, 1000, 0.0, 0.1, 0.99),
    Setting(300, 300, 0.0, 0.01, 0.5),
    Setting(300, 30, 0.0, 0.1, 0.7),
]
PAIRS_WITHIN = [
    Setting(1000, 1000, 0.0, 0.01, 0.6, rival=0.3, rho=0.7),
    Setting(100, 1000, 0.0, 0.1, 0.9, rival=0.85, rho=0.9),
    Setting(100, 100, 0.0, 0.1, 0.7, rival=0.5, rho=0.8, grid=0.5),
    Setting(100, 1000, 0.05, 0.5, 0.9, rival=0.85, rho=0.9),
    Setting(1000, 1000, 0.2, 0.3, 0.5, rival=0.5, rho=0.3),
    Setting(100, 100, 0.0, 1.0, 0.8, rival=0.7, rho=0.5),
]
PAIRS_ELSEWHERE = [
    Setting(1000, 100, 0.0, 0.1, 0.9, rival=0.9, rho=0.95),
    Setting(300, 300, 0.05, 0.5, 0.95, rival=0.95, rho=0.99),
    Setting(30, 300, 0.05, 0.5, 0.99, rival=0.98, rho=0.8),
    Setting(300, 300, 0.0, 0.01, 0.5, rival=0.3, rho=0.7),
]


@dataclass(frozen=True)
class Covered:
    """Shares of draws: the interval held the truth, lay above it, carried its flag; mean width."""

    held: float
    above: float
    flagged: float
    width: float


def cover(setting: Setting, draws: int = DRAWS, seed: int = 0) -> Covered:
    """Draw rows, take the interval, see whether it holds the true pAUC or difference."""
    rng = np.random.default_rng(seed)
    truths = [setting.pauc] if setting.rival is None else [setting.pauc, setting.rival]
    shifts = [_shift(setting, truth) for truth in truths]
    y = np.arange(setting.n_pos + setting.n_neg) < setting.n_pos
    band = {"fpr_low": setting.low, "fpr_high": setting.high}
    truth = truths[0] - sum(truths[1:])
    seen: Counter[str] = Counter()
    width = 0.0
    for _ in range(draws):
        first, other = rng.normal(size=(2, y.size))
        second = setting.rho * first + math.sqrt(1.0 - setting.rho**2) * other
        models = [_rounded(s + m * y, setting.grid) for s, m in zip((first, second), shifts)]
        found: Interval | Comparison
        if setting.rival is None:
            found = pauc_interval(y, *models, **band)
        else:
            found = compare_pauc(y, *models, **band)
        seen["held"] += found.low <= truth <= found.high
        seen["above"] += found.low > truth
        seen["flagged"] += not found.reliable
        width += found.high - found.low
    shares = (seen[name] / draws for name in ("held", "above", "flagged"))
    return Covered(*shares, width / draws)


def _rounded(scores: np.ndarray, grid: float) -> np.ndarray:
    return np.round(scores / grid) if grid else scores


def _shift(setting: Setting, truth: float) -> float:
    """How far the positives lie above the negatives for a given true pAUC."""
    return brentq(lambda shift: true_pauc(setting, shift) - truth, -5.0, 12.0)


def true_pauc(setting: Setting, shift: float) -> float:
    """Area under the interpolated ROC curve of the population, over the band's width."""
    if setting.grid:
        cuts = setting.grid * (np.arange(100.0, -101.0, -1.0) + 0.5)
        fpr, tpr = stats.norm.sf(cuts), stats.norm.sf(cuts - shift)
        x = np.unique(
            np.append(fpr[(fpr > setting.low) & (fpr < setting.high)], [setting.low, setting.high])
        )
        height = np.interp(x, fpr, tpr)
    else:
        # Steps that shrink towards 0, where the curve may be steep.
        x = setting.low + (setting.high - setting.low) * np.linspace(0.0, 1.0, 20001) ** 4
        height = stats.norm.sf(stats.norm.isf(x) - shift)
    return float(np.trapezoid(height, x)) / (setting.high - setting.low)


def table(settings: list[Setting]) -> str:
    """Measured coverage as a Markdown table."""
    pairs = settings[0].rival is not None
    true = ["true pAUCs", "correlation"] if pairs else ["true pAUC"]
    head = ["positives", "negatives", "band", *true, "scores", "held", "lay above", "lay below"]
    lines = [[*head, "mean width", "flagged"], ["---"] * (len(head) + 2)]
    for k, setting in enumerate(settings):
        found = cover(setting, seed=100 + k)
        print(setting, found, file=sys.stderr, flush=True)
        below = 1.0 - found.held - found.above
        values = (
            [f"{setting.pauc:g}, {setting.rival:g}", f"{setting.rho:g}"]
            if pairs
            else [f"{setting.pauc:g}"]
        )
        lines.append(
            [
                f"{setting.n_pos:,}",
                f"{setting.n_neg:,}",
                f"[{setting.low:g}, {setting.high:g}]",
                *values,
                f"steps of {setting.grid:g}" if setting.grid else "no ties",
                *(f"{100 * share:.1f} %" for share in (found.held, found.above, below)),
                f"{found.width:.3f}",
                f"{100 * found.flagged:.0f} %",
            ]
        )
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main(path: Path) -> None:
    text = path.read_text()
    for name, settings in (
        ("within", WITHIN),
        ("elsewhere", ELSEWHERE),
        ("pairs", PAIRS_WITHIN),
        ("pairs elsewhere", PAIRS_ELSEWHERE),
    ):
        begin, end = BEGIN.format(name), END.format(name)
        before, _, rest = text.partition(begin)
        text = f"{before}{begin}\n{table(settings)}\n{end}{rest.partition(end)[2]}"
    write_text(path, text)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
