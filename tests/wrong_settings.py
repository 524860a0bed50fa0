"""Mistakes in the settings, by the hundred: each place of each file is made wrong in turn.

A mistake is one that nobody can mean: a word for a number, a number that is none or lies outside
its range, a name that nothing has, a key that is misspelt, missing or there twice.
"""

from __future__ import annotations

import copy
import random
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from pauc_core.suite.configuration import load
from pauc_core.suite.named_code import check_names
from pauc_core.suite.yaml_files import ConfigurationError, read_mapping
from tests.fuzzing import is_sentence

ROOT = Path(__file__).parents[1]
FILES = ("config", "scales/default", "methods", "experiments", "datasets", "reports")
GIVEN = yaml.safe_load((ROOT / "config/config.yaml").read_text())
# What only people read: any word is right there.
READ = {"title", "label", "note", "task_titles", "words", "licence", "page", "by_hand", "dataset"}
# A person gives these names: another one is no mistake, or another file tells it.
GIVEN_NAMES = {"datasets": {()}, "reports": {("figures",), ("tables",)}}
LABELS = {"positive", "negative"}  # may be any word or number
CLASSES = {"classes", "positives", "datasets"}  # names of classes, tasks and columns
# Words that must be the name of something.
NAMES = {
    "config": {"scale", "device"},
    "scales/default": {"scale", "tune_on"},
    "methods": {"use"},
    "experiments": {"track", "goal", "loss", "model", "scaling", "datasets", "methods", "like"},
    "datasets": {"kind", "of", "network", "provenance", "weights", "part", "sha256", "md5"},
    "reports": {"source", "form", "metric", "metrics", "methods", "lines", "panels", "x", "rival",
                "method", "columns", "experiment", "marker", "line", "colour"},
}  # fmt: skip
SCHEMAS = ROOT / "workflow/schemas"
RANGED = set(yaml.safe_load((SCHEMAS / "hyperparameters.schema.yaml").read_text())["properties"])
Steps = tuple[Any, ...]


def leaves(tree: Any, steps: Steps = ()) -> Iterator[tuple[Steps, Any]]:
    """Every value of a file with the way to it."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from leaves(value, (*steps, key))
    elif isinstance(tree, list):
        for place, value in enumerate(tree):
            yield from leaves(value, (*steps, place))
    else:
        yield steps, tree


def mappings(tree: Any, steps: Steps = ()) -> Iterator[tuple[Steps, dict[str, Any]]]:
    if isinstance(tree, dict):
        yield steps, tree
        for key, value in tree.items():
            yield from mappings(value, (*steps, key))
    elif isinstance(tree, list):
        for place, value in enumerate(tree):
            yield from mappings(value, (*steps, place))


def at(tree: Any, steps: Steps) -> Any:
    for step in steps:
        tree = tree[step]
    return tree


def mistakes(file: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What is wrong, and what makes the file's content with it."""
    whole = yaml.safe_load((ROOT / f"config/{file}.yaml").read_text())

    def changed(steps: Steps, value: Any) -> Any:
        content = copy.deepcopy(whole)
        at(content, steps[:-1])[steps[-1]] = value
        return content

    def misspelt(steps: Steps, key: str) -> Any:
        content = copy.deepcopy(whole)
        place = at(content, steps)
        place[f"{key}x"] = place.pop(key)
        return content

    for steps, value in leaves(whole):
        where, words = ".".join(map(str, steps)), {str(step) for step in steps}
        if READ & words or value is None:
            continue
        if isinstance(value, bool):
            yield f"{where}: a number for yes or no", partial(changed, steps, 3)
        elif isinstance(value, int | float) and not LABELS & words:
            yield f"{where}: a word for a number", partial(changed, steps, "many")
            yield f"{where}: not a number", partial(changed, steps, float("nan"))
            # A parameter that is its method's own affair may be negative.
            if not {"params", "grid", "grids"} & words or RANGED & words:
                yield f"{where}: less than nothing", partial(changed, steps, -7)
        elif isinstance(value, str):
            if not LABELS & words:
                yield f"{where}: a list for a word", partial(changed, steps, [[value]])
            last = next(str(step) for step in reversed(steps) if isinstance(step, str))
            if last in NAMES[file]:
                yield f"{where}: a name that nothing has", partial(changed, steps, f"{value}x")
    for steps, mapping in mappings(whole):
        where, words = ".".join(map(str, steps)) or "(top)", {str(step) for step in steps}
        if (READ | CLASSES) & words or steps in GIVEN_NAMES.get(file, ()):
            continue
        for key in mapping:
            yield f"{where}: {key} misspelt", partial(misspelt, steps, key)
    text = (ROOT / f"config/{file}.yaml").read_text()
    for key in whole:
        yield f"{key}: twice", partial(str, f"{text}\n{key}: {{}}\n")


def outcome(root: Path, file: str, content: Any) -> str:
    """What a start says of one mistake: 'told', 'silent', or what crashed."""
    path = root / f"config/{file}.yaml"
    kept = path.read_text()
    path.write_text(
        content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False)
    )
    try:
        settings = read_mapping(path) if file == "config" else GIVEN
        check_names(load(root, settings))
    except ConfigurationError as error:
        # A name that is gone is told by the file that uses it.
        named = is_sentence(str(error)) and "config/" in str(error)
        return "told" if named else f"not a sentence with a file: {error}"
    except Exception as error:
        return f"crashed: {type(error).__name__}: {error}"
    finally:
        path.write_text(kept)
    return "silent"


def project(target: Path) -> Path:
    shutil.copytree(ROOT / "config", target / "config")
    shutil.copytree(ROOT / "workflow/schemas", target / "workflow/schemas")
    return target


def sample(count: int, seed: int = 0) -> list[tuple[str, str, Any]]:
    """So many mistakes, as many of each file."""
    rng = random.Random(seed)
    chosen = []
    for number, file in enumerate(FILES):
        found = list(mistakes(file))
        rng.shuffle(found)
        share = (count - len(chosen)) // (len(FILES) - number)
        chosen += [(file, what, make()) for what, make in found[:share]]
    return chosen
