"""The page: self-contained, whole, small; in a browser it draws and switches."""

from __future__ import annotations

import base64
import gzip
import json
import os
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from pauc_core.report.frames import ReportError
from pauc_core.report.page import small_enough
from pauc_core.report.report import build_report, write_report
from tests.collected_fixture import write_collected

ROOT = Path(__file__).resolve().parents[1]
REFERENCE, REPORTS = ROOT / "reference", ROOT / "config" / "reports.yaml"
CHECK = ROOT / "tests" / "browser_check"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report")
    collected = write_collected(
        out / "collected", fail=(("gen-chest-features@D3", "dca"),), stale=("proximal_dca",)
    )
    write_report(build_report(collected, REFERENCE, REPORTS), out)
    return out


@pytest.fixture(scope="module")
def page(made: Path) -> str:
    return (made / "report" / "index.html").read_text(encoding="utf-8")


def own_markup(page: str) -> str:
    """The page without the bodies of its scripts."""
    return re.sub(r"(<script[^>]*>).*?</script>", r"\1</script>", page, flags=re.DOTALL)


def data_of(page: str) -> dict[str, Any]:
    packed = re.search(r'<script id="data"[^>]*>(.*?)</script>', page, flags=re.DOTALL)
    assert packed
    found: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(packed.group(1))))
    return found


def test_nothing_is_loaded_from_elsewhere(page: str) -> None:
    class Links(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found.extend(v or "" for k, v in attrs if k in ("src", "href", "srcset", "action"))

    found: list[str] = []
    Links().feed(own_markup(page))
    assert found
    assert all(link.startswith(("#", "data:")) for link in found)


def test_size_marks_and_parts(page: str) -> None:
    assert len(page.encode()) < 8_000_000
    markup = own_markup(page)
    assert "GENERATED DATA" in markup[: markup.index("<main")]
    for part in ("claims", "tables", "curves", "roc", "figures", "tuning", "failures", "run"):
        assert f'<section id="{part}">' in markup
    for number in range(1, 7):
        assert f'id="table{number}"' in markup
    assert markup.index('id="claims"') < markup.index('id="tables"')
    assert markup.count('class="claim first"') == 10
    assert markup.count('class="headline"') == 10
    assert markup.index('id="figure0"') < markup.index('id="table1"')
    assert 'class="chip undecided"' in markup
    assert not re.search(r"\b(fails|holds)\b", markup[: markup.index('<section id="tables">')])
    assert "nonfinite" in markup[markup.index('<section id="failures">') :]
    assert "linear-gen/gen-chest-features@D1/proximal_dca" in markup
    run = markup[markup.index('<section id="run">') :]
    for told in ("<td>chest-gen</td>", "0" * 12, "torch 2.13.0", "cores 2", "float32"):
        assert told in run


def test_every_measured_number_has_its_runs_behind_it(page: str) -> None:
    cells = data_of(page)["runs"]["cells"]
    keys = set(re.findall(r'data-key="([^"]+)"', own_markup(page)))
    runs = {key for key in keys if not key.endswith("|")}
    assert len(runs) > 100
    assert runs <= set(cells)
    seed = cells["linear-gen|gen-chest-features@D1|agd_sbcd"]["seeds"][1]
    assert seed["seed"] == 1
    for name in ("params", "code_digest", "data_checksum", "seconds", "peak_mb", "versions"):
        assert seed[name] is not None


def test_page_is_the_same_when_made_again_and_reads_nothing_back(made: Path, page: str) -> None:
    written = [*made.glob("*.csv"), *made.glob("tables/*"), *made.glob("figures/*")]
    assert len(written) > 30
    for path in written:
        path.write_text("spoilt")
    assert build_report(made / "collected", REFERENCE, REPORTS).page == page


def test_a_page_that_is_too_large_is_one_sentence() -> None:
    with pytest.raises(ReportError, match="8,000,001 bytes; at most 8,000,000 are meant"):
        small_enough("x" * 8_000_001)


def chromium(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("chromium is not installed (on Debian: apt-get install chromium).")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    flags += [f"--user-data-dir={tmp_path / 'profile'}", "--enable-logging=stderr"]
    flags += ["--virtual-time-budget=30000", "--window-size=1300,2400"]
    return subprocess.run(
        [program, *flags, *arguments], capture_output=True, text=True, timeout=240, check=True
    )


@pytest.mark.slow
def test_in_a_browser_everything_is_drawn_and_switches_work(
    made: Path, page: str, tmp_path: Path
) -> None:
    listen, exercise = (
        f"<script>{(CHECK / name).read_text()}</script>" for name in ("listen.js", "exercise.js")
    )
    probed = page.replace("<head>", "<head>" + listen, 1).replace("</body>", exercise + "</body>")
    (tmp_path / "probed.html").write_text(probed, encoding="utf-8")
    done = chromium(tmp_path, "--dump-dom", f"file://{tmp_path / 'probed.html'}")
    found = re.search(r'<pre id="probe">(.*?)</pre>', done.stdout)
    assert found, "the page's script did not finish"
    out = json.loads(found.group(1).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    assert out["seen"] == []
    assert "CONSOLE" not in done.stderr
    assert all(count > 0 for count in out["drawn"])
    assert out["pictures"] == [True] * 8
    assert out["start"], "on a log axis the start is in view and still told as 0"
    assert out["without"] == out["before"] - 1
    assert out["again"] == out["before"]
    assert out["lower"]
    assert out["log"] == "log"
    assert out["plainAxis"] == "linear"
    assert out["plain"]
    assert out["x"] == "CPU seconds"
    assert len(out["tasks"]) > 20
    assert all(count > 0 for count in out["tasks"])
    assert all(count > 0 for count in out["rocs"])
    assert out["dialog"] == 4
    assert out["closed"]


@pytest.mark.slow
def test_screenshot_is_kept(made: Path, tmp_path: Path) -> None:
    kept = Path(os.environ.get("PAUC_SCREENSHOTS", ROOT / "results" / "screenshots"))
    kept.mkdir(parents=True, exist_ok=True)
    picture = kept / "report.png"
    picture.unlink(missing_ok=True)
    chromium(tmp_path, f"--screenshot={picture}", f"file://{made / 'report' / 'index.html'}")
    assert picture.stat().st_size > 50_000
