"""Pictures: what is drawn is what was measured."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from pauc_core import PartialAUCClassifier, pauc, plot_band
from tests.test_estimator import two_kinds


def axes():
    return Figure().subplots()


def test_the_path_shows_every_candidate_and_marks_the_chosen_one():
    x, y = two_kinds(2, rows=1500)
    model = PartialAUCClassifier(random_state=0).fit(x, y)
    ax = model.plot_path(axes())
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert sorted(words) == sorted({*model.path_["loss"], "chosen"})
    drawn = {tuple(line.get_ydata()) for line in ax.get_lines()}
    for loss in ("sigmoid", "logistic"):
        assert tuple(model.path_["pauc"][model.path_["loss"] == loss]) in drawn
    (mark,) = [line for line in ax.get_lines() if line.get_label() == "chosen"]
    assert mark.get_ydata()[0] == model.validation_score_


def test_a_path_of_logistic_regression_alone_can_be_drawn():
    x, y = two_kinds(2, rows=300)
    few = np.flatnonzero(y)[8:]
    with pytest.warns(UserWarning, match="fewer than 10"):
        model = PartialAUCClassifier().fit(np.delete(x, few, 0), np.delete(y, few))
    assert model.plot_path(axes()).get_legend() is not None


@pytest.mark.parametrize("band", [(0.05, 0.5), (0.0, 0.1), (0.0, 1.0)])
def test_the_shaded_area_is_the_partial_auc(band):
    rng = np.random.default_rng(0)
    y = rng.random(400) < 0.3
    scores = rng.normal(size=400) + y
    ax = plot_band(np.where(y, "sick", "well"), scores, band, ax=axes(), pos_label="sick")
    area = pauc(y, scores, fpr_low=band[0], fpr_high=band[1])
    corners = ax.collections[0].get_paths()[0].vertices
    x, height = corners[:, 0], corners[:, 1]
    around = abs(np.sum(x * np.roll(height, 1) - np.roll(x, 1) * height)) / 2
    assert around / (band[1] - band[0]) == pytest.approx(area, abs=1e-9)
    assert f"pAUC {area:.3f} (" in ax.get_legend().get_texts()[0].get_text()
