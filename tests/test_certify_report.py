"""Reports on floors: rows agree with the floors they come from, the page stays within its policy, plots are inline."""

from __future__ import annotations

import re
import sys

import pytest

import tang_egg as te
from tang_egg.cost.estimates import estimate
from tang_egg.cost.floor import traffic_floor
from tang_egg.pipeline import extract
from tang_egg.program import KernelPlan
from tang_egg.report import build_report
from tang_egg.report_floor import distance_svg, floor_rows, floor_section, floor_text, roofline_svg
from tang_egg.report_html import render_html
from tang_egg.schedule import parse_schedule

DEVICE = estimate("c")


@pytest.fixture(scope="module")
def extraction():  # type: ignore[no-untyped-def]
    return extract(te.graph("product", C=te.matmul(te.input("A", (64, 96)), te.input("B", (96, 80)))))


def test_a_row_has_the_floors_of_its_kernel_and_both_tiles(extraction) -> None:  # type: ignore[no-untyped-def]
    (plan,) = extraction.program.kernels
    schedule = parse_schedule("tile tile=i:4,j:16 stage=B")
    (r,) = floor_rows(extraction.program, {"C": schedule}, DEVICE, {"C": 1e-3}, cache="cold")
    floor = traffic_floor(KernelPlan("C", plan.outputs), capacity=DEVICE.faster_than("memory"))
    assert (r.bytes, r.compulsory) == (floor.bytes, 4 * (64 * 96 + 96 * 80 + 64 * 80))
    assert r.operations == pytest.approx(2 * 64 * 96 * 80, rel=0.02)
    assert r.tile == "tile=i:4,j:16" and "×" in r.dual and r.reach == r.floor / 1e-3 < 1
    text = floor_text([r])
    assert "kernel C: C = " in text and "1 ms measured" in text and r.binding in text
    (bare,) = floor_rows(extraction.program, {}, DEVICE)
    assert bare.seconds == 0 and "not measured" in floor_text([bare]) and bare.tile == "none"


def test_the_page_gets_a_section_with_plots_that_its_policy_allows(extraction) -> None:  # type: ignore[no-untyped-def]
    pytest.importorskip("matplotlib")
    found = floor_rows(extraction.program, {}, DEVICE, {"C": 1e-3})
    section = floor_section(found, DEVICE)
    assert section.count("<svg") == 2 and 'id="floors"' in section
    assert not re.search(r"<style|style=|<script|<image|href=\"(?!#)", section)
    page = render_html(build_report(extraction), floors=section)
    assert page.count('href="#floors"') == 1 and section in page
    assert 'href="#floors"' not in render_html(build_report(extraction))


def test_there_is_no_plot_of_what_was_not_measured_and_none_without_matplotlib(
    extraction,
    monkeypatch: pytest.MonkeyPatch,  # type: ignore[no-untyped-def]
) -> None:
    bare = floor_rows(extraction.program, {}, DEVICE)
    assert roofline_svg(bare, DEVICE) == distance_svg(bare) == ""
    seen = floor_rows(extraction.program, {}, DEVICE, {"C": 1e-3})
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert roofline_svg(seen, DEVICE) == distance_svg(seen) == ""
    assert "<table" in floor_section(seen, DEVICE)
