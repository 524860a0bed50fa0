"""Which stream a split is drawn from: of the seed, the dataset and the task."""

from __future__ import annotations

import numpy as np
import pytest

from pauc_core.data.prepared import write_prepared
from pauc_core.data.splits import split


def valid_rows(folder, name="set", task="D1", seed=0, groups=False):
    """Validation rows of a set whose tasks have equal labels: nothing but the stream differs."""
    y = np.arange(300) % 3 == 0
    prepared = write_prepared(
        folder,
        name=name,
        kind="table",
        x=np.zeros((300, 1), dtype=np.float32),
        y=np.stack([y, y], axis=1).astype(np.int8),
        part=np.zeros(300, dtype=np.uint8),
        tasks=["D1", "D2"],
        provenance="generated",
        group=np.arange(300) // 2 if groups else None,
    )
    return split(prepared, task, seed)[2].tolist()


@pytest.mark.parametrize("groups", [False, True])
@pytest.mark.parametrize("other", [{"task": "D2"}, {"seed": 1}, {"name": "another"}])
def test_tasks_seeds_and_datasets_have_splits_of_their_own(tmp_path, other, groups):
    folder = tmp_path / "set"
    first, again = valid_rows(folder, groups=groups), valid_rows(folder, groups=groups)
    assert first == again
    assert valid_rows(folder, groups=groups, **other) != first
