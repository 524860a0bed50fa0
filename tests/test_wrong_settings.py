"""A few of the mistakes of tests/wrong_settings.py; `make reliability` makes 300."""

from __future__ import annotations

import pytest

from tests.wrong_settings import FILES, outcome, project, sample


@pytest.fixture(scope="module")
def chosen() -> list:
    return sample(6 * len(FILES), seed=1)


@pytest.mark.parametrize("file", FILES)
def test_a_mistake_in_any_place_is_told_before_the_first_job(tmp_path, chosen, file):
    root = project(tmp_path)
    own = [(what, content) for name, what, content in chosen if name == file]
    assert len(own) >= 6
    for what, content in own:
        assert outcome(root, file, content) == "told", what
