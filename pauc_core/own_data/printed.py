"""What the command prints, from the dictionaries that it makes: lines for people."""

from __future__ import annotations

import math
from typing import Any

Result = dict[str, Any]


def fit(found: Result) -> str:
    """What was read, what was chosen, and how it did on held-out rows."""
    columns = found["columns"]
    read = f"{columns['numbers']} of numbers"
    if columns["words"]:
        read += f", {columns['words']} of words"
    if columns["features"] > columns["numbers"]:
        read += f": {columns['features']} features"
    penalty = "" if math.isnan(found["penalty"]) else f", penalty {found['penalty']:g}"
    lines = [
        f"rows              {_rows(found)}",
        f"columns           {read}",
        *(f"left out          {what}" for what in found["left_out"]),
        f"positive class    {found['positive_class']}",
        f"held-out pAUC     {found['held_out_pauc']:.4f} in {_band(found)}",
        f"log. regression   {found['logistic_regression']:.4f}",
        f"chosen            {found['loss']}{penalty}",
        f"predict           {_aim(found)}",
        f"model             {found['model']}",
    ]
    return "\n".join(lines)


def score(found: Result) -> str:
    """The pAUC with its interval, and a table of rates."""
    lines = [
        f"rows       {_rows(found)}",
        f"pAUC       {found['pauc']:.4f} in {_band(found)}",
        f"95 %       {_ends(found)}{_doubt(found)}",
        f"AUC        {found['auc']:.4f}",
        "",
        f"{'FPR at most':>11}  {'FPR':>7}  {'TPR':>7}  {'score above':>11}",
    ]
    for rate in found["rates"]:
        name = rate["at"] if isinstance(rate["at"], str) else f"{rate['at']:g}"
        lines.append(
            f"{name:>11}  {rate['fpr']:7.4f}  {rate['tpr']:7.4f}  {rate['threshold']:11.4g}"
        )
    return "\n".join(lines + _picture(found))


def predict(found: Result) -> str:
    """How many rows got which answer."""
    answers = ", ".join(f"{count} {name}" for name, count in found["predicted"].items())
    return f"rows       {found['rows']}: {answers}\nscores     {found['scores']}"


def compare(found: Result) -> str:
    """Both pAUCs and their paired difference."""
    lines = [f"rows       {_rows(found)}", f"band       {_band(found)}"]
    for name, key in (("A", "first"), ("B", "second")):
        side = found[key]
        lines.append(
            f"{name}          {side['pauc']:.4f}, 95 % {_ends(side)}{_doubt(side)}  {side['from']}"
        )
    lines.append(
        f"A less B   {found['difference']:+.4f}, 95 % {_ends(found, '+')}, p = "
        f"{found['p_value']:.2g}{_doubt(found)}"
    )
    return "\n".join(lines + _picture(found))


def _rows(found: Result) -> str:
    positives = found["positives"]
    return f"{found['rows']}: {positives} positive, {found['rows'] - positives} negative"


def _band(found: Result) -> str:
    low, high = found["band"].values()
    return f"{'TPR ' if 'tpr_low' in found['band'] else ''}[{low:g}, {high:g}]"


def _aim(found: Result) -> str:
    if not math.isnan(found["predict_tpr"]):
        return f"at a TPR of {found['predict_tpr']:g}"
    rate = f"{found['predict_fpr']:g}"
    if found["confidence"] is None:
        return f"at an FPR of {rate}"
    return (
        f"at an FPR of at most {rate} with a confidence of {found['confidence']:g}, by "
        f"{found['set_apart']} negatives set apart"
    )


def _ends(found: Result, sign: str = "") -> str:
    return " to ".join(f"{end:{sign}.4f}" for end in found["interval"])


def _doubt(found: Result) -> str:
    return f" (not to be relied on: {found['doubt']})" if found["doubt"] else ""


def _picture(found: Result) -> list[str]:
    return ["", f"ROC plot   {found['roc']}"] if found["roc"] else []
