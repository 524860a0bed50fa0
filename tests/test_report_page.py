"""The page: self-contained, whole, small; in a browser it draws and switches."""

from __future__ import annotations

import base64
import gzip
import json
import os
import re
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from pauc_core.report.frames import ReportError
from pauc_core.report.page import small_enough
from pauc_core.report.report import build_report, write_report
from tests.browser import ENTER, ESCAPE, TAB, Browser, opened
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


def test_each_link_of_the_page_leads_to_one_place(page: str) -> None:
    markup = own_markup(page)
    places = re.findall(r'\bid="([^"]*)"', markup)
    assert 'id="race"' in markup
    assert len(places) == len(set(places))
    assert set(re.findall(r'href="#([^"]*)"', markup)) <= set(places)


def test_size_marks_and_parts(page: str) -> None:
    assert len(page.encode()) < 4_000_000
    markup = own_markup(page)
    assert "GENERATED DATA" in markup[: markup.index("<main")]
    for part in ("claims", "tables", "curves", "roc", "figures", "tuning", "failures", "run"):
        assert f'<section id="{part}">' in markup
    for number in range(1, 7):
        assert f'id="table{number}"' in markup
    assert markup.index('id="claims"') < markup.index('id="tables"')
    assert markup.count('<article class="claim"') == 10
    assert markup.count('class="headline"') == 10
    assert markup.index('class="strip"') < markup.index('id="table1"'), (
        "the forest plot comes first"
    )
    assert markup.count('<p class="see">') > markup.count('class="result"') == 9
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
    cell = cells["linear-gen|gen-chest-features@D1|agd_sbcd"]
    assert cell["seeds"]["seed"] == [0, 1, 2]
    for name in ("params", "code_digest", "data_checksum", "seconds", "peak_mb", "versions"):
        told = cell["seeds"].get(name, [cell["same"].get(name)])
        assert None not in told


def test_page_is_the_same_when_made_again_and_reads_nothing_back(made: Path, page: str) -> None:
    written = [*made.glob("*.csv"), *made.glob("tables/*"), *made.glob("figures/*")]
    assert len(written) > 30
    for path in written:
        path.write_text("spoilt")
    assert build_report(made / "collected", REFERENCE, REPORTS).page == page


def test_a_page_that_is_too_large_is_one_sentence() -> None:
    with pytest.raises(ReportError, match="4,000,001 bytes; at most 4,000,000 are meant"):
        small_enough("x" * 4_000_001)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with opened(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.mark.slow
def test_in_a_browser_everything_is_drawn_and_switches_work(made: Path, browser: Browser) -> None:
    browser.open(made / "report" / "index.html", 1300)
    out = browser.run((CHECK / "exercise.js").read_text())
    assert browser.complaints() == []
    assert all(count > 0 for count in out["drawn"])
    assert out["pictures"] == [True] * 7
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
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 800, 1600])
def test_any_width_in_light_and_dark(made: Path, browser: Browser, width: int, scheme: str) -> None:
    browser.open(made / "report" / "index.html", width, scheme=scheme)
    kept = Path(os.environ.get("PAUC_SCREENSHOTS", ROOT / "results" / "screenshots"))
    kept.mkdir(parents=True, exist_ok=True)
    browser.picture(kept / f"report-{width}-{scheme}.png")
    seen = browser.run(FIRST_SCREEN)
    assert seen == {"question": True, "answer": True, "claims": True, "side": width == 1600}
    browser.run("document.querySelectorAll('main details').forEach((d) => { d.open = true; });")
    time.sleep(0.2)  # what is opened is filled after the event
    wide = "return [document.documentElement.scrollWidth, innerWidth]"
    assert browser.run(wide) == [width, width], "the page itself does not scroll sideways"
    contrast = browser.run((CHECK / "contrast.js").read_text())
    assert contrast["texts"] > 1000
    assert contrast["found"] == []
    assert browser.complaints() == []


FIRST_SCREEN = """
const top = (name) => document.querySelector(name).getBoundingClientRect();
const nav = top("nav"), main = top("main");
return {
  question: top("h1").bottom < innerHeight, answer: top(".answer").bottom < innerHeight,
  claims: top(".claim").top < innerHeight, side: nav.right <= main.left,
};
"""


@pytest.mark.slow
def test_keyboard_goes_through_the_page_in_reading_order(made: Path, browser: Browser) -> None:
    browser.open(made / "report" / "index.html", 1600)
    browser.press(TAB)
    assert browser.run(PLACE)["name"] == "#main", "first of all a way past the contents"
    stops = []
    for _ in range(30):
        browser.press(TAB)
        stops.append(browser.run(PLACE))
    names = [stop["name"] for stop in stops]
    assert names[0] == "#run", "the link in the head"
    assert names[1:4] == ["#claims", "#tables", "#table1"]
    assert "SUMMARY" in names, "every regime opens by keyboard"
    assert [stop for stop in stops if not stop["seen"]] == [], "what has the focus is seen"
    order = [stop["order"] for stop in stops]
    assert order == sorted(order), "the focus follows the text"
    assert browser.run("return document.querySelectorAll('[tabindex]').length") > 10
    assert (
        browser.run("return document.querySelectorAll('[tabindex]:not([tabindex=\"0\"])').length")
        == 0
    )
    browser.run("document.querySelector('#table2 button.open').focus()")
    browser.press(ENTER)
    assert browser.run("return document.getElementById('provenance').open")
    assert browser.run(
        "return document.getElementById('provenance').contains(document.activeElement)"
    )
    browser.press(ESCAPE)
    back = "return document.activeElement === document.querySelector('#table2 button.open')"
    assert browser.run(back), "the focus comes back to the number"


PLACE = """
const node = document.activeElement, box = node.getBoundingClientRect();
const all = [...document.querySelectorAll("*")];
return {
  name: node.hash || node.tagName, order: all.indexOf(node), top: box.top,
  seen: getComputedStyle(node).outlineStyle !== "none" && box.top >= 0 && box.top < innerHeight,
};
"""


@pytest.mark.slow
def test_it_prints(made: Path, browser: Browser) -> None:
    browser.open(made / "report" / "index.html", 1600, scheme="dark")
    browser.tell("Emulation.setEmulatedMedia", media="print", features=[])
    light = "return getComputedStyle(document.body).backgroundColor"
    assert browser.run(light) == "rgb(255, 255, 255)"
    hidden = "return document.querySelector('nav').checkVisibility()"
    assert not browser.run(hidden)
    boxes = "[...document.querySelectorAll('.scroll')].map((s) => getComputedStyle(s).overflowX)"
    assert set(browser.run(f"return {boxes}")) == {"visible"}, "no table is cut off on paper"
    browser.tell("Emulation.setEmulatedMedia", media="")
    assert browser.printed().startswith(b"%PDF")
