"""A run's progress on disk, so that a killed run goes on where it was."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import pickle
import time
from pathlib import Path
from typing import Any

import numpy as np

from pauc_core.files import atomic_path
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
        import torch

        packed = {
            field.name: _pack(getattr(progress, field.name))
            for field in dataclasses.fields(progress)
            if field.name not in ("state", "trace", "best", "last")
        }
        packed["state"] = _pack_fields(progress.state)
        packed["trace"] = progress.trace.rows
        for name in ("best", "last"):
            looks = getattr(progress, name)
            packed[name] = {which: _pack_fields(look) for which, look in looks.items()}
        packed["mark"] = self.mark
        with atomic_path(self.path) as temporary:
            torch.save(packed, temporary)
        self.saved = time.monotonic()

    def load(self, template: State) -> Progress | None:
        """Saved progress, its state of the template's kind; None where this run has none."""
        if not self.path.exists():
            return None
        import torch

        try:
            packed = torch.load(self.path, weights_only=True)
        except (RuntimeError, EOFError, pickle.UnpicklingError):
            return None  # a machine that lost its power may leave a file without its content
        if packed.pop("mark", "") != self.mark:
            return None
        state = dataclasses.replace(template, **_unpack(packed.pop("state")))
        trace = Trace(packed.pop("trace"))
        best, last = (_looks(packed.pop(name)) for name in ("best", "last"))
        return Progress(state=state, trace=trace, best=best, last=last, **_unpack(packed))

    def forget(self) -> None:
        self.path.unlink(missing_ok=True)


def _looks(packed: dict[str, Any]) -> dict[str, Look]:
    return {which: Look(**_unpack(look)) for which, look in packed.items()}


def _pack_fields(value: Any) -> dict[str, Any]:
    return {f.name: _pack(getattr(value, f.name)) for f in dataclasses.fields(value) if f.init}


def _pack(value: Any) -> Any:
    """Numpy values as marked tensors: only tensors and plain values load without pickle."""
    import torch

    if isinstance(value, np.ndarray):
        return {"__numpy__": torch.from_numpy(np.ascontiguousarray(value)), "shape": value.shape}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {key: _pack(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_pack(item) for item in value]
    # A predictor of a method's own is made anew from its state.
    return None if callable(value) else value


def _unpack(value: Any) -> Any:
    if isinstance(value, dict):
        if "__numpy__" in value:
            return value["__numpy__"].numpy().reshape(value["shape"])
        return {key: _unpack(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_unpack(item) for item in value]
    return value
