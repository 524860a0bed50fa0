"""Tables 1 to 6 and our own, measured beside paper, as CSV, Markdown and LaTeX."""

from __future__ import annotations

import csv
import io
import math
import re
from itertools import groupby

from pauc_core.report.layout import Cell, Row, Table

TEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_", "$": r"\$",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\^{}", "|": r"\textbar{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "±": r"$\pm$", "†": r"$^\dagger$",
}  # fmt: skip
MD_MARKS = re.compile(r"[\\|*`]|\](?=[(\[])|(?<!\w)_|_(?!\w)")  # _ inside a word is itself


def blocks(table: Table) -> list[tuple[str, list[Row]]]:
    """Rows by block, in order."""
    return [(name, list(rows)) for name, rows in groupby(table.rows, key=lambda row: row.block)]


def to_csv(table: Table) -> str:
    """Full precision: mean, deviation and n of each cell in columns of their own."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    heads = [f"{c}{part}" for c in table.columns for part in ("", " deviation", " n", " shown")]
    writer.writerow(["block", table.stub.lower(), "in_paper", "kind", *heads])
    for row in table.rows:
        cells = [value for cell in row.cells for value in _numbers(cell)]
        writer.writerow([row.block, row.label, "no" if row.extra else "yes", row.kind, *cells])
    return buffer.getvalue()


def _numbers(cell: Cell) -> list[str]:
    numbers = [repr(float(x)) if math.isfinite(x) else "" for x in (cell.mean, cell.deviation)]
    return [*numbers, str(cell.n or ""), cell.text]


def to_markdown(table: Table) -> str:
    """GitHub's tables; the paper's line under each measured one."""
    heads = ["", *map(plain_md, [table.stub, "", *table.columns])]
    lines = [f"### {plain_md(heading(table))}", ""]
    lines += [f"**{plain_md(warning)}**\n" for warning in table.warnings]
    lines += ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    for block, rows in blocks(table):
        last, extra = None, False
        for i, row in enumerate(rows):
            if row.extra and not extra:
                extra = True
                lines.append(f"| | *{table.line}* |" + " |" * (len(heads) - 2))
            label = row.label if row.label != last else ""
            cells = [_md(cell, row.kind) for cell in row.cells]
            start = [plain_md(block) if i == 0 else "", plain_md(label), row.kind]
            lines.append("| " + " | ".join([*start, *cells]) + " |")
            last = row.label
    lines += ["", *[f"- {plain_md(note)}" for note in table.notes], ""]
    return "\n".join(lines)


def _md(cell: Cell, kind: str) -> str:
    text = plain_md(cell.text) + (" †" if cell.stale else "")
    if not cell.text:
        return ""
    if cell.best:
        return f"**{text}**"
    if cell.above:
        return f"<u>{text}</u>"
    return f"*{text}*" if kind == "paper" else text


def plain_md(text: str) -> str:
    """Plain text for Markdown: nothing in it ends a cell, begins markup or an HTML tag."""
    return MD_MARKS.sub(r"\\\g<0>", " ".join(text.split())).replace("<", "&lt;")


def heading(table: Table) -> str:
    number = table.name.removeprefix("table")
    return f"Table {number}: {table.title}" if number.isdigit() else table.title


def to_latex(table: Table) -> str:
    """Booktabs; needs booktabs, graphicx and xcolor."""
    width = len(table.columns)
    lines = [
        r"\begin{table}[t]",
        rf"\caption{{{escape(table.title)}. {escape(' '.join(table.warnings + table.notes))}}}",
        rf"\label{{measured_{table.name}}}",
        r"\centering",
        r"\resizebox{\textwidth}{!}{",
        rf"\begin{{tabular}}{{lll{'c' * width}}}",
        r"\toprule",
        " & ".join(["", escape(table.stub), "", *map(escape, table.columns)]) + r" \\",
    ]
    for block, rows in blocks(table):
        lines.append(r"\midrule")
        last, extra = None, False
        for i, row in enumerate(rows):
            if row.extra and not extra:
                extra = True
                lines.append(rf"\cmidrule(l){{2-{width + 3}}}")
            label = row.label if row.label != last else ""
            cells = [_tex(cell, row.kind) for cell in row.cells]
            start = [escape(block) if i == 0 else "", escape(label), row.kind]
            lines.append(" & ".join([*start, *cells]) + r" \\")
            last = row.label
    lines += [r"\bottomrule", r"\end{tabular}", "}", r"\end{table}", ""]
    return "\n".join(lines)


def _tex(cell: Cell, kind: str) -> str:
    if not cell.text:
        return ""
    text = escape(cell.text) + (r"$^\dagger$" if cell.stale else "")
    if cell.best:
        text = rf"\textbf{{{text}}}"
    if cell.above:
        text = rf"\underline{{{text}}}"
    return rf"\textcolor{{gray}}{{{text}}}" if kind == "paper" else text


def escape(text: str) -> str:
    """Plain text for LaTeX."""
    return "".join(TEX.get(mark, mark) for mark in " ".join(text.split()))


FORMATS = {"csv": to_csv, "md": to_markdown, "tex": to_latex}
