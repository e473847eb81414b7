"""Figures as files: vector twice and pixels once, each what its suffix says."""

from __future__ import annotations

from pathlib import Path

from PIL import Image

from overread.case import Table
from overread.report.exports import write_figure_files
from support.reported import SIGNATURE, bars, reported_of


def test_every_figure_is_svg_pdf_and_png_at_300_dpi(tmp_path: Path) -> None:
    table = Table(name="t", title="T", columns=("x",), rows=(("1",),))
    figure = bars("Bars & more", [{"reader": "</svg><script>", "value": 0.5}])
    written = write_figure_files(tmp_path, [reported_of([table, figure])])
    names = [f"grounding-bars-more.{suffix}" for suffix in ("svg", "pdf", "png")]
    assert [one.file for one in written] == names
    assert {one.signature for one in written} == {SIGNATURE}
    assert {one.notes for one in written} == {"One bar."}
    svg, pdf, png = (tmp_path / name for name in names)
    text = svg.read_text(encoding="utf-8")
    assert text.startswith("<svg")
    assert "<script" not in text
    assert pdf.read_bytes().startswith(b"%PDF")
    with Image.open(png) as image:
        assert image.format == "PNG"
        assert [round(dpi) for dpi in image.info["dpi"]] == [300, 300]
