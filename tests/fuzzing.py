"""Bad input by the thousand: strategies, and one harness that tells a refusal from a crash.

A case is accepted, or refused with one sentence. Anything else (another exception, a hang, a file
outside the folder that was named) ends the fuzzing with the case in hand.
"""

from __future__ import annotations

import contextlib
import copy
import gzip
import io
import math
import signal
import tarfile
import tempfile
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pauc_core import intervals, metrics
from pauc_core.data.archives import open_zip, read_zip, walk_tar
from pauc_core.data.chest import CHEXPERT, chexpert_labels, read_table
from pauc_core.data.cifar import fetch_batches
from pauc_core.data.errors import DataError
from pauc_core.data.loaded import to_labels
from pauc_core.data.prepare import prepare
from pauc_core.own_data.rows import label_values, training_rows
from pauc_core.suite import configuration
from pauc_core.suite.named_code import check_names
from pauc_core.suite.yaml_files import ConfigurationError

ROOT = Path(__file__).parents[1]
SECONDS = 20  # a case that takes longer hangs


class Crash(AssertionError):
    """A case that was neither accepted nor refused with a sentence."""


@dataclass(frozen=True)
class Target:
    """What is fuzzed: cases, what is done with one, how many of 2,000 cases it gets."""

    cases: st.SearchStrategy[Any]
    run: Callable[[Any, Path], None]
    refusal: type[Exception]
    share: int


def fuzz(target: Target, cases: int, *, fixed: bool = True) -> Counter[str]:
    """Try so many cases; count the accepted and the refused; raise `Crash` on anything else."""
    counts: Counter[str] = Counter()

    @settings(
        max_examples=cases,
        derandomize=fixed,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(target.cases)
    def one(case: Any) -> None:
        counts[outcome(target, case)] += 1

    one()
    return counts


def outcome(target: Target, case: Any) -> str:
    """Run one case in a sandbox: 'accepted' or 'refused'."""
    with tempfile.TemporaryDirectory() as top:
        sandbox = Path(top, "a/b/sandbox")
        sandbox.mkdir(parents=True)
        word = "accepted"
        try:
            with _limited(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                target.run(case, sandbox)
        except target.refusal as error:
            if not is_sentence(str(error)):
                raise Crash(f"not one sentence: {str(error)!r}") from error
            word = "refused"
        except Exception as error:
            raise Crash(f"{type(error).__name__}: {error}") from error
        outside = [p for p in Path(top).rglob("*") if sandbox not in (p, *p.parents)]
        if set(outside) != {Path(top, "a"), Path(top, "a/b")}:
            raise Crash(f"written outside the folder: {outside}")
    return word


def is_sentence(text: str) -> bool:
    return text.endswith(".") and " " in text and not set("\n\r\v\f\x85\u2028\u2029") & set(text)


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    def late(*_: object) -> None:
        raise TimeoutError(f"no end after {SECONDS} s")

    kept = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, kept)


# ---- bytes ---------------------------------------------------------------------------------------
HOSTILE = st.sampled_from(
    ["", " ", "nan", "inf", "-inf", "1e999", "-0", "0x10", "１", "٣", "1_000", "\x00", "\ufeff1",
     "9" * 400, "-1", "1", "0", "2", "1.0", "True", "a,b", '"', "'", ";", "#", "\t", "$(touch x)",
     "../x", "/x", "NA", "null", "None", "+1", "1:1", "é", "💥", "--", "{", "%s", "{0}"]
)  # fmt: skip
WORD = st.one_of(HOSTILE, st.text(max_size=6), st.integers().map(str), st.floats().map(str))


@st.composite
def damaged(draw: st.DrawFn, whole: st.SearchStrategy[bytes]) -> bytes:
    """Bytes with a few of them changed, cut off or put in."""
    data = bytearray(draw(whole))
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.integers(0, max(len(data) - 1, 0)))
        match draw(st.sampled_from(["change", "cut", "insert", "drop"])):
            case "change" if data:
                data[place] = draw(st.integers(0, 255))
            case "cut":
                del data[place:]
            case "insert":
                data[place:place] = draw(st.binary(min_size=1, max_size=8))
            case "drop":
                del data[place : place + draw(st.integers(1, 8))]
    return bytes(data)


# ---- LIBSVM text ---------------------------------------------------------------------------------
def _pairs(indices: list[int], values: list[float]) -> str:
    return " ".join(f"{i}:{v:g}" for i, v in zip(sorted(indices), values, strict=False))


FINE = st.builds(
    lambda y, i, v: f"{y} {_pairs(i, v)}".strip(),
    st.sampled_from(["+1", "-1"]),
    st.lists(st.integers(1, 4), unique=True, max_size=4),
    st.lists(st.floats(-9, 9), min_size=4, max_size=4),
)
ODD = st.builds(
    lambda y, pairs: " ".join([y, *(f"{i}:{v}" for i, v in pairs)]),
    WORD,
    st.lists(st.tuples(WORD, WORD), max_size=3),
)
LIBSVM = st.one_of(
    damaged(st.lists(FINE, min_size=10, max_size=16).map(lambda x: "\n".join(x).encode())),
    st.lists(st.one_of(FINE, FINE, FINE, ODD), min_size=1, max_size=12).map(
        lambda x: "\n".join(x).encode(errors="surrogatepass")
    ),
    st.binary(max_size=60),
)


def run_libsvm(data: bytes, sandbox: Path) -> None:
    folder = sandbox / "raw/f"
    folder.mkdir(parents=True)
    (folder / "s").write_bytes(data)
    entry = {
        "kind": "libsvm", "folder": "f", "files": [{"name": "s", "part": "train"}],
        "positive": [1], "negative": [-1], "provenance": "own", "expect": {"width": 4},
    }  # fmt: skip
    _prepared_or_nothing(entry, sandbox)


def _prepared_or_nothing(entry: dict[str, Any], sandbox: Path) -> None:
    try:
        found = prepare("s", entry, sandbox / "raw", sandbox / "out/s")
    except DataError:
        out = sandbox / "out"
        if out.exists() and list(out.iterdir()):
            raise Crash(f"half-written: {list(out.iterdir())}") from None
        raise
    if not np.isfinite(np.asarray(found.x)).all() or set(np.unique(found.y)) - {0, 1}:
        raise Crash("accepted with a value that is no number or a label that is none")


# ---- tables --------------------------------------------------------------------------------------
CELL = st.one_of(st.floats(-5, 5).map("{:.3g}".format), st.sampled_from(["0", "1", "2"]), WORD)
HEADER = st.one_of(
    st.just(["a", "y", "g"]),
    st.lists(st.sampled_from(["a", "y", "g", "y", "", "1", "a b"]), min_size=1, max_size=4),
)
GRID = st.builds(
    lambda head, rows: (
        pd.DataFrame(rows).to_csv(index=False, header=False).encode()
        if not head
        else (",".join(head) + "\n" + "\n".join(",".join(row) for row in rows)).encode(
            errors="surrogatepass"
        )
    ),
    HEADER,
    st.lists(st.lists(CELL, min_size=1, max_size=4), max_size=8),
)
GOOD_TABLE = st.integers(4, 12).map(
    lambda n: ("a,y,g\n" + "\n".join(f"{i / 3:.3f},{i % 2},{i // 2}" for i in range(n))).encode()
)


def _parquet(n: int) -> bytes:
    buffer = io.BytesIO()
    pd.DataFrame({"a": np.arange(n) / 3, "y": np.arange(n) % 2, "g": 0}).to_parquet(buffer)
    return buffer.getvalue()


PARQUETS = [_parquet(n) for n in (0, 1, 6, 40)]
TABLE = st.tuples(
    st.one_of(
        st.tuples(st.just("t.csv"), st.one_of(GRID, damaged(GOOD_TABLE), st.binary(max_size=80))),
        st.tuples(st.just("t.csv.gz"), damaged(GOOD_TABLE.map(gzip.compress))),
        st.tuples(st.just("t.parquet"), damaged(st.sampled_from(PARQUETS))),
    ),
    st.sampled_from([{}, {"group": "g"}, {"drop": ["g"]}, {"negative": [0]}, {"drop": ["none"]}]),
    st.booleans(),
)


def run_table(case: tuple[tuple[str, bytes], dict[str, Any], bool], sandbox: Path) -> None:
    (name, data), more, own = case
    path = sandbox / name
    path.write_bytes(data)
    if own:
        rows = training_rows(path, label="y", drop=more.get("drop", []), group=more.get("group"))
        label_values(np.asarray(rows.labels), None, path)
        return
    entry = {"kind": "table", "path": str(path), "label": "y", "positive": [1], **more}
    _prepared_or_nothing(entry, sandbox)


# ---- labels --------------------------------------------------------------------------------------
LABEL = st.one_of(st.sampled_from(["1", "0", "-1", "", "1.0", " -1.0 "]), WORD)
LABELS = st.one_of(
    st.tuples(st.just("chexpert"), st.lists(LABEL, max_size=6)),
    st.tuples(
        st.just("csv"), st.one_of(damaged(st.just(b"Path,No\np,1\n")), st.binary(max_size=40))
    ),
    st.tuples(
        st.just("words"), st.lists(st.one_of(st.sampled_from([1, 0, -1]), WORD), max_size=6)
    ),
    st.tuples(
        st.just("numbers"), st.lists(st.one_of(st.sampled_from([1.0, -1.0]), st.floats()))
    ),
)  # fmt: skip


def run_labels(case: tuple[str, Any], sandbox: Path) -> None:
    kind, values = case
    if kind == "chexpert":
        y = chexpert_labels(pd.DataFrame(dict.fromkeys(CHEXPERT, values), dtype=str), sandbox)
    elif kind == "csv":
        (sandbox / "train.csv").write_bytes(values)
        y = np.zeros(0)
        read_table(sandbox / "train.csv", ["Path", "No"])
    else:
        y = to_labels(np.array(values), {"positive": [1], "negative": [-1, 0]}, str(sandbox))
    if set(np.unique(y)) - {0, 1}:
        raise Crash(f"labels {np.unique(y)}")


# ---- archives ------------------------------------------------------------------------------------
MEMBER = st.one_of(
    st.sampled_from(
        ["x.bin", "d/x.bin", "../x.bin", "../../x.bin", "/x.bin", "a/../../x.bin", "C:/x.bin",
         "..\\x.bin", ".", "..", "./x.bin", "a//x.bin", ".bin", "x.bin/", "data_batch_1.bin"]
    ),
    st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=9
    ).map(lambda t: t + ".bin"),
)  # fmt: skip
MEMBERS = st.lists(
    st.tuples(MEMBER, st.binary(max_size=20), st.sampled_from(["file", "file", "link", "hard"])),
    max_size=3,
)


def _zip(members: list[tuple[str, bytes, str]]) -> bytes:
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        warnings.simplefilter("ignore")  # of a name that occurs twice
        for name, data, kind in members:
            info = zipfile.ZipInfo(name)
            info.external_attr = (0o120777 if kind == "link" else 0o100644) << 16
            archive.writestr(info, data)
    return buffer.getvalue()


def _tar(members: list[tuple[str, bytes, str]]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as archive:
        for name, data, kind in members:
            info = tarfile.TarInfo(name)
            if kind == "file":
                info.size = len(data)
            else:
                info.type = tarfile.SYMTYPE if kind == "link" else tarfile.LNKTYPE
                info.linkname = "../../stolen"
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


ARCHIVE = st.one_of(
    st.tuples(st.just("zip"), damaged(MEMBERS.map(_zip))),
    st.tuples(st.sampled_from(["tar", "fetch"]), damaged(MEMBERS.map(_tar))),
    st.tuples(st.sampled_from(["zip", "tar", "fetch"]), st.binary(max_size=80)),
)


def run_archive(case: tuple[str, bytes], sandbox: Path) -> None:
    kind, data = case
    path = sandbox / "c.tar.gz"
    path.write_bytes(data)
    if kind == "zip":
        with open_zip(path) as archive:
            for name in archive.namelist():
                read_zip(archive, name)
    elif kind == "tar":
        for _ in walk_tar(path):
            pass
    else:  # the one place where members become files
        entry = {
            "files": [{"name": "data_batch_1.bin", "md5": "0" * 32}],
            "archive": {"name": "c.tar.gz", "urls": ["http://127.0.0.1:9/none"]},
        }
        fetch_batches("c", entry, sandbox, None, progress=False)


# ---- metric --------------------------------------------------------------------------------------
RATE = st.one_of(st.sampled_from([0.0, 0.05, 0.5, 1.0, math.nan, -1.0]), st.floats())
SCORE = st.one_of(st.sampled_from([0.0, 1.0, math.inf, -math.inf, math.nan, 5e-324]), st.floats())
METRIC = st.tuples(
    st.lists(st.tuples(st.sampled_from([0, 1]), st.floats(allow_nan=False)), min_size=0, max_size=8)
    | st.lists(st.tuples(st.sampled_from([0, 1, True, -1, 2, 0.5, math.nan]), SCORE), max_size=8),
    st.one_of(st.just((0.0, 0.5)), st.tuples(RATE, RATE)),
    st.sampled_from(["width", "raw", "mcclish", "width", "no"]),
    st.sampled_from(
        ["pauc", "pairs", "roc", "tpr", "threshold", "bootstrap", "interval", "compare", "words"]
    ),
)


def run_metric(case: tuple[Any, ...], sandbox: Path) -> None:
    rows, (low, high), scale, what = case
    y, scores = [row[0] for row in rows], [row[1] for row in rows]
    band = {"fpr_low": low, "fpr_high": high}
    value: Any
    match what:
        case "pauc":
            value = metrics.pauc(y, scores, scale=scale, **band)
            if scale == "mcclish":  # a strip above the diagonal alone may lie below chance
                return
        case "pairs":
            value = metrics.pauc_pairs(y, scores, **band)
        case "roc":
            fpr, tpr, _ = metrics.roc_curve_points(y, scores)
            value = np.concatenate([fpr, tpr])
        case "tpr":
            value = metrics.tpr_at_fpr(y, scores, low)
        case "threshold":
            metrics.threshold_at_fpr(scores, low)
            return
        case "bootstrap":
            value = intervals.bootstrap_interval(y, scores, rng=0, repeats=3, **band)
        case "interval":
            found = intervals.pauc_interval(y, scores, **band)
            value = [found.value, found.low, found.high]
            if not found.low < found.high:
                raise Crash(f"the interval is {found}")
        case "compare":
            told = intervals.compare_pauc(y, scores, scores[::-1], scale=scale, **band)
            value = [told.p_value]
            if not told.low <= told.difference <= told.high or told.low == told.high:
                raise Crash(f"the comparison is {told}")
        case _:
            value = metrics.pauc([str(v) for v in y], scores, pos_label="1", **band)
    if not (np.asarray(value) >= -1e-12).all() or not (np.asarray(value) <= 1 + 1e-12).all():
        raise Crash(f"{what} is {value}")


# ---- configuration -------------------------------------------------------------------------------
FILES = tuple(
    f"config/{name}.yaml" for name in ("methods", "experiments", "scales/default", "datasets")
)
CATALOGUE = {
    str(path.relative_to(ROOT)): yaml.safe_load(path.read_text())
    for path in ROOT.glob("config/**/*.yaml")
}
VALUE = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 10**6), st.floats(), HOSTILE,
              st.sampled_from(["pauc", "digits", "agd_sbcd", "nih@D1", "os:system"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(HOSTILE, inner, max_size=3),
    max_leaves=4,
)  # fmt: skip
SETTING = st.dictionaries(
    st.sampled_from(["scale", "results", "raw", "mirror", "subset", "device", "paths", "spam"]),
    st.one_of(st.sampled_from(["default", "open", "a b; touch x", "auto"]), VALUE),
    max_size=3,
)
CONFIGURATION = st.tuples(
    st.sampled_from(FILES),
    st.lists(st.integers(0, 10**6), min_size=1, max_size=5),
    st.sampled_from(["change", "drop", "add", "rename"]),
    VALUE,
    HOSTILE,
    st.one_of(st.just({}), st.just({}), SETTING),
    st.one_of(st.none(), st.none(), st.none(), damaged(st.just(b"agd: {label: x, use: 'a:B'}"))),
)  # fmt: skip


def _mutate(tree: Any, steps: list[int], how: str, value: Any, name: str) -> Any:
    """A copy of nested data with one place changed; `steps` choose the way down."""
    if not isinstance(tree, dict | list) or not tree:
        return value
    keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
    key = keys[steps[0] % len(keys)]
    inner = tree[key]
    if len(steps) > 1 and isinstance(inner, dict | list) and inner:
        tree[key] = _mutate(inner, steps[1:], how, value, name)
    elif how == "change" or isinstance(tree, list):
        tree[key] = value
    elif how == "drop":
        del tree[key]
    elif how == "add":
        tree[name] = value
    else:
        tree[name] = tree.pop(key)
    return tree


def run_configuration(case: tuple[Any, ...], sandbox: Path) -> None:
    file, steps, how, value, name, given_settings, text = case
    if text is not None:
        (sandbox / "methods.yaml").write_bytes(text)
        configuration.read_mapping(sandbox / "methods.yaml")
        return
    content = copy.deepcopy(CATALOGUE)
    content[file] = _mutate(content[file], steps, how, value, name)
    base = {"scale": "default", "results": "results", "raw": "data/raw"}
    wanted = configuration.settings({**base, **given_settings})
    kept = configuration.read_mapping
    # What the files hold is handed over as it is: writing and parsing YAML takes most of the time.
    configuration.read_mapping = lambda path: _handed(content, path) or kept(path)
    try:
        suite = configuration.load(ROOT, wanted)
        check_names(suite)
    finally:
        configuration.read_mapping = kept
    for experiment in suite.experiments.values():
        for method in experiment.methods:
            suite.groups(experiment, method)
            suite.tuned(experiment, method)
    suite.stored_datasets()


def _handed(content: dict[str, Any], path: Path) -> Any:
    found = content.get(str(path.relative_to(ROOT)))
    return found if isinstance(found, dict) else None


TARGETS = {
    "LIBSVM files": Target(LIBSVM, run_libsvm, DataError, 500),
    "tables": Target(TABLE, run_table, DataError, 450),
    "label policies": Target(LABELS, run_labels, DataError, 300),
    "archives": Target(ARCHIVE, run_archive, DataError, 250),
    "metric": Target(METRIC, run_metric, ValueError, 350),
    "configuration": Target(CONFIGURATION, run_configuration, ConfigurationError, 150),
}
