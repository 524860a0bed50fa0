"""The command line of ``pauc``: what may be written there."""

from __future__ import annotations

import argparse
from pathlib import Path

from pauc_core.objective.losses import LOSSES

RATES = (0.01, 0.05, 0.1, 0.2, 0.5)


def parser() -> argparse.ArgumentParser:
    """The parser of all four commands."""
    top = argparse.ArgumentParser(
        prog="pauc", description="Linear models for a band of false positive rates."
    )
    commands = top.add_subparsers(dest="command", required=True)
    _fit(commands.add_parser("fit", help="train on a CSV, TSV, Parquet or LIBSVM file"))
    _score(commands.add_parser("score", help="score a saved model on a file with labels"))
    _predict(commands.add_parser("predict", help="write a model's scores for the rows of a file"))
    _compare(
        commands.add_parser(
            "compare", help="compare two files of scores, or two models on a file with labels"
        )
    )
    for command in commands.choices.values():
        command.add_argument("--json", action="store_true", help="print JSON, in full precision")
    return top


def read(argv: list[str] | None) -> argparse.Namespace:
    """Read a command line; what is wrong with it ends the program with exit code 2."""
    top = parser()
    arguments = top.parse_args(argv)
    if arguments.command in ("fit", "compare"):
        arguments.band = _named(top, arguments.fpr, arguments.tpr)
    if arguments.command == "compare":
        models = [path.suffix.lower() == ".npz" for path in arguments.files[:2]]
        if len(arguments.files) != (3 if all(models) else 2) or any(models) != all(models):
            top.error("compare takes two files of scores, or two models (.npz) and a table")
        if not all(models) and arguments.band is None:
            top.error("compare: the band is missing: give it with --fpr LOW HIGH")
        if len(arguments.score) > 2:
            top.error("compare: --score takes one name, or one for each file")
    return arguments


def _fit(command: argparse.ArgumentParser) -> None:
    command.add_argument("train", type=Path)
    command.add_argument("--label", help="label column (not for LIBSVM)")
    command.add_argument("--positive", help="label of the positives, all others being negative")
    _band(command)
    command.add_argument("--loss", choices=sorted(LOSSES), help="surrogate; chosen unless given")
    _columns(command, "--drop", "columns that are no features")
    _columns(command, "--text", "columns to take as words, such as numbers that are codes")
    _columns(command, "--number", "columns to take as numbers that look like identifiers")
    command.add_argument(
        "--missing", nargs="+", default=[], metavar="WORD", help="cells that stand for no value"
    )
    command.add_argument("--group", help="column of groups (patients) that no split may cut")
    command.add_argument("--weight", help="column of the weights of rows")
    where = command.add_mutually_exclusive_group()
    where.add_argument("--predict-fpr", type=_rate, metavar="RATE", help="where predict works")
    where.add_argument("--predict-tpr", type=_rate, metavar="RATE")
    command.add_argument(
        "--confidence", type=_rate, metavar="SHARE", help="promise the rate of --predict-fpr"
    )
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("--quiet", action="store_true", help="no progress bar")
    command.add_argument("-o", "--output", type=Path, required=True, metavar="MODEL.npz")


def _score(command: argparse.ArgumentParser) -> None:
    command.add_argument("model", type=Path)
    command.add_argument("test", type=Path)
    command.add_argument("--label", help="label column, if not the one of training")
    command.add_argument("--group", help="column of groups (patients) for the interval")
    command.add_argument("--weight", help="column of the weights of rows")
    command.add_argument("--at", nargs="+", type=_rate, default=RATES, metavar="FPR")
    _picture(command)


def _predict(command: argparse.ArgumentParser) -> None:
    command.add_argument("model", type=Path)
    command.add_argument("table", type=Path, help="rows, with labels or without")
    command.add_argument("--label", help="label column to hand on, if not the one of training")
    _columns(command, "--keep", "columns to hand on, such as an identifier")
    command.add_argument("-o", "--output", type=Path, required=True, metavar="SCORES.csv")


def _compare(command: argparse.ArgumentParser) -> None:
    command.add_argument("files", nargs="+", type=Path, help="A.csv B.csv, or A.npz B.npz TABLE")
    command.add_argument("--label", help="label column; of models, if not the one of training")
    command.add_argument("--positive", help="label of the positives, in files of scores")
    command.add_argument("--id", help="column that says which rows belong together")
    command.add_argument("--score", nargs="+", default=[], help="column of scores, or one a file")
    command.add_argument("--group", help="column of groups (patients) for the intervals")
    command.add_argument("--weight", help="column of the weights of rows")
    _band(command)
    _picture(command)


def _band(command: argparse.ArgumentParser) -> None:
    either = command.add_mutually_exclusive_group()
    for name, what in (("--fpr", "false"), ("--tpr", "true")):
        either.add_argument(
            name, nargs=2, type=float, metavar=("LOW", "HIGH"),
            help=f"the band of {what} positive rates",
        )  # fmt: skip


def _named(
    top: argparse.ArgumentParser, fpr: list[float] | None, tpr: list[float] | None
) -> dict[str, float] | None:
    """The band as the metric takes it, or None where none was given."""
    for name, band in (("fpr", fpr), ("tpr", tpr)):
        if band is not None:
            if not 0 <= band[0] < band[1] <= 1:
                top.error(f"--{name} {band[0]:g} {band[1]:g}: expected 0 <= LOW < HIGH <= 1")
            return {f"{name}_low": band[0], f"{name}_high": band[1]}
    return None


def _columns(command: argparse.ArgumentParser, name: str, what: str) -> None:
    command.add_argument(name, nargs="+", default=[], metavar="COLUMN", help=what)


def _picture(command: argparse.ArgumentParser) -> None:
    command.add_argument("--roc", type=Path, metavar="PNG", help="draw ROC curves (matplotlib)")


def _rate(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text} is no rate between 0 and 1")
    return value
