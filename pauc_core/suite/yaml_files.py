"""Settings files read strictly: no key twice, every number finite, mistakes in one sentence."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import yaml


class ConfigurationError(ValueError):
    """A mistake in the configuration, in one sentence."""

    def __init__(self, sentence: str) -> None:
        # Reasons of other libraries are quoted in it and may run over several lines.
        super().__init__(" ".join(sentence.split()))


class _OneOfEachKey(yaml.SafeLoader):
    """Refuses a mapping with a key twice, of which YAML's readers keep the second in silence."""

    # When nodes are composed merge keys (<<) are not yet filled in: replacing theirs is no fault.
    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        seen: dict[Any, int] = {}
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            line = key.start_mark.line + 1
            if (key.tag, key.value) in seen:
                raise yaml.YAMLError(
                    f"the key {key.value!r} of line {seen[key.tag, key.value]} again in line "
                    f"{line}, expected each key once"
                )
            seen[key.tag, key.value] = line
        return node


def read_mapping(path: Path) -> dict[str, Any]:
    """The content of a YAML file of names."""
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=_OneOfEachKey)
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise ConfigurationError(
            f"{path}: cannot be read as YAML ({error}); repair the file."
        ) from error
    if not isinstance(content, dict):
        raise ConfigurationError(
            f"{path}: expected a mapping of names, got {type(content).__name__}."
        )
    return content


def check_schema(content: Any, schema_path: Path, place: str) -> None:
    """Raise the first thing in ``content`` that its schema does not allow."""
    errors = sorted(_validator(schema_path).iter_errors(content), key=_depth)
    for error in errors[:1]:
        key = ".".join(str(step) for step in error.absolute_path) or "(top)"
        if error.validator == "additionalProperties" and isinstance(error.instance, dict):
            known = list(error.schema.get("properties", {}))
            extra = next(name for name in error.instance if name not in known)
            raise unknown(place, key, extra, known)
        if error.validator == "enum":
            raise unknown(place, key, error.instance, error.validator_value)
        raise ConfigurationError(f"{place}: {key}: {error.message[:200]}; see {schema_path.name}.")
    # JSON has no such numbers, and they pass every bound of a schema or none.
    for key, number in _numbers(content, ()):
        if not math.isfinite(number):
            raise ConfigurationError(f"{place}: {key}: expected a finite number, got {number}.")


def unknown(place: str, key: str, name: Any, known: Iterable[Any]) -> ConfigurationError:
    """The sentence for a name that is not among the known ones."""
    names = [str(x) for x in known]
    near = difflib.get_close_matches(str(name), names, n=1, cutoff=0.0)
    hint = f"; the nearest known name is {near[0]!r}" if near else ""
    return ConfigurationError(
        f"{place}: {key}: {str(name)!r} is unknown; expected one of {len(names)} known names{hint}."
    )


@cache
def _validator(path: Path) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(yaml.safe_load(path.read_text(encoding="utf-8")))


def _depth(error: jsonschema.ValidationError) -> int:
    return -len(error.absolute_path)


def _numbers(content: Any, steps: tuple[str, ...]) -> Iterator[tuple[str, float]]:
    if isinstance(content, float):
        yield ".".join(steps), content
    elif isinstance(content, dict):
        for key, value in content.items():
            yield from _numbers(value, (*steps, str(key)))
    elif isinstance(content, list):
        for place, value in enumerate(content):
            yield from _numbers(value, (*steps, str(place)))
