"""A run's progress on disk, so that a killed run goes on where it was."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import sys
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pauc_core.files import atomic_path, write_json
from pauc_core.solver import Look, Progress, State
from pauc_core.solver.trace import Trace


def fingerprint(decides: Any) -> str:
    """A digest of all that decides a run's numbers, as plain data."""
    return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()


class FileKeeper:
    """Saves the progress of a run at most every ``seconds`` seconds.

    Progress is of use only to the very same run: ``mark`` tells whether it is.
    """

    def __init__(self, path: Path, seconds: float, mark: str = "") -> None:
        self.path = path
        self.seconds = seconds
        self.mark = mark
        self.saved = time.monotonic()

    def offer(self, progress: Progress) -> None:
        if time.monotonic() - self.saved >= self.seconds:
            self.save(progress)

    def save(self, progress: Progress) -> None:
        packed = {
            field.name: _pack(getattr(progress, field.name))
            for field in dataclasses.fields(progress)
            if field.name not in ("state", "trace", "best", "last")
        }
        packed["state"] = _pack_fields(progress.state)
        packed["trace"] = _pack(progress.trace.rows)
        for name in ("best", "last"):
            looks = getattr(progress, name)
            packed[name] = {which: _pack_fields(look) for which, look in looks.items()}
        packed["mark"] = self.mark
        with atomic_path(self.path) as temporary:
            _write(temporary, packed)
        self.saved = time.monotonic()

    def load(self, template: State) -> Progress | None:
        """Saved progress, its state of the template's kind; None where this run has none."""
        if not self.path.exists():
            return None
        try:
            packed = _read(self.path)
        except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile):
            return None  # a machine that lost its power may leave a file without its content
        if packed.pop("mark", "") != self.mark:
            return None
        state = dataclasses.replace(template, **packed.pop("state"))
        trace = Trace(packed.pop("trace"))
        best, last = (_looks(packed.pop(name)) for name in ("best", "last"))
        return Progress(state=state, trace=trace, best=best, last=last, **packed)

    def forget(self) -> None:
        self.path.unlink(missing_ok=True)


@dataclass(frozen=True)
class KeptTrial:
    """The summary of a trial that has ended; of use only to the very same trial."""

    path: Path
    mark: str

    def write(self, summary: dict[str, Any]) -> dict[str, Any]:
        write_json(self.path, {"mark": self.mark, "summary": summary})
        return summary

    def read(self) -> dict[str, Any] | None:
        try:
            found = json.loads(self.path.read_text())
        except (OSError, ValueError):
            return None
        return found["summary"] if found.get("mark") == self.mark else None


def _looks(packed: dict[str, Any]) -> dict[str, Look]:
    return {which: Look(**look) for which, look in packed.items()}


def _pack_fields(value: Any) -> dict[str, Any]:
    return {f.name: _pack(getattr(value, f.name)) for f in dataclasses.fields(value) if f.init}


def _pack(value: Any) -> Any:
    """Plain values, arrays and tensors, in dictionaries and lists."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {key: _pack(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_pack(item) for item in value]
    # A predictor of a method's own is made anew from its state.
    return None if callable(value) else value


def _write(path: Path, packed: dict[str, Any]) -> None:
    """An .npz file: arrays, and one line of JSON that names their places; nothing pickled."""
    arrays: list[np.ndarray] = []
    # Who has not imported torch holds no tensors.
    tensor = getattr(sys.modules.get("torch"), "Tensor", ())

    def place(value: Any) -> dict[str, Any]:
        if isinstance(value, tensor):
            arrays.append(value.detach().cpu().numpy())
            # Sums over channels-last weights have bits of their own: strides are part of the value.
            where = {"device": str(value.device), "strides": value.stride()}
            return {"tensor": f"arr_{len(arrays) - 1}", **where}
        if isinstance(value, np.ndarray):
            arrays.append(value)
            return {"array": f"arr_{len(arrays) - 1}"}
        raise TypeError(f"A state cannot be saved that holds a {type(value).__name__}.")

    tree = json.dumps(packed, default=place)
    with path.open("wb") as file:
        np.savez(file, *arrays, tree=np.array(tree))


def _read(path: Path) -> dict[str, Any]:
    with np.load(path, allow_pickle=False) as file:
        content = {name: file[name] for name in file.files}

    def place(value: dict[str, Any]) -> Any:
        if value.keys() == {"array"}:
            return content[value["array"]]
        if value.keys() == {"tensor", "device", "strides"}:
            import torch

            found = torch.from_numpy(content[value["tensor"]])
            empty = torch.empty_strided(
                found.shape, value["strides"], dtype=found.dtype, device=value["device"]
            )
            return empty.copy_(found)
        return value

    packed: dict[str, Any] = json.loads(str(content["tree"]), object_hook=place)
    return packed
