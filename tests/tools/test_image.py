from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure
from PIL import Image

from hermes_nb.errors import UsageError
from hermes_nb.tools.rendering.image import MAX_ALONG, MAX_SHOWN, image_part, images_in, pictures_in
from hermes_nb.tools.rendering.result import to_content

mpl.use("agg")


def _png() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (2, 2)).save(file, format="PNG")
    return file.getvalue()


def _figure() -> Figure:
    figure = Figure()
    figure.subplots().plot([1, 2])
    return figure


@pytest.mark.parametrize(
    "make",
    [_png, _figure, lambda: _figure().axes[0], lambda: Image.new("RGB", (3, 3))],
    ids=["bytes", "figure", "axes", "pil"],
)
def test_what_a_notebook_has_becomes_a_png(make: Any) -> None:
    part = image_part("picture", make())
    assert (part.type, part.mime_type) == ("image", "image/png")
    Image.open(io.BytesIO(base64.b64decode(part.data))).verify()


def test_file_is_read_and_named_when_it_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(b"\xff\xd8\xff rest")
    assert image_part("photo", tmp_path / "a.jpg").mime_type == "image/jpeg"
    with pytest.raises(UsageError, match="photo"):
        image_part("photo", str(tmp_path / "none.png"))


@pytest.mark.parametrize("value", [b"%PDF-1.7", 3, None], ids=["pdf", "int", "none"])
def test_anything_else_is_refused_by_name(value: Any) -> None:
    with pytest.raises(UsageError, match="picture"):
        image_part("picture", value)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "YCbCr", "LAB", "HSV", "I", "F", "I;16"])
def test_a_picture_of_any_mode_is_drawn(mode: str) -> None:
    assert len(images_in(Image.new(mode, (2, 2)))) == 1


def test_parts_of_a_figure_are_drawn_as_that_figure_once() -> None:
    import numpy

    figure, other = Figure(), _figure()
    axes = figure.subplots(2, 2)
    lines = axes[0, 0].plot([1, 2], [3, 4])
    for value in (axes, list(axes.flat), lines, lines[0], (figure, axes[1, 1]), figure.axes[0].set_title("T")):
        assert len(images_in(value)) == 1
    assert len(images_in([lines[0], other, other.axes[0]])) == 2
    assert images_in(numpy.array([1, "a", None], dtype=object)) == []


def test_a_figure_that_can_not_be_drawn_harms_nothing() -> None:
    figure = _figure()
    figure.axes[0].set_title(r"$\\frac{$")
    assert images_in([figure, _png()])[0].mime_type == "image/png"
    assert len(images_in([figure, _png()])) == 1
    with pytest.raises(UsageError, match="chart can't be drawn: ValueError"):
        image_part("chart", figure)


def test_images_of_a_value_are_found_and_nothing_else(tmp_path: Path) -> None:
    png = tmp_path / "a.png"
    png.write_bytes(_png())
    assert [p.mime_type for p in images_in(_figure())] == ["image/png"]
    assert [p.mime_type for p in images_in([_figure(), _png()])] == ["image/png"] * 2
    assert images_in([_png()] * (MAX_ALONG + 1)) == []
    for value in (None, 3, "text", str(png), png, b"bytes", [1, 2], {"a": _png()}):
        assert images_in(value) == []


def test_pictures_to_look_at_are_found_and_nothing_else() -> None:
    from IPython.display import HTML
    from plotly.graph_objects import Figure as Chart

    figure, chart, shown, drawing = _figure(), Chart(), HTML("<b>b</b>"), Image.new("RGB", (2, 2))
    assert pictures_in([figure, figure.axes[0], chart, shown, drawing]) == [figure, chart, shown, drawing]
    assert pictures_in(chart) == [chart]
    assert pictures_in([drawing] * (MAX_SHOWN + 1)) == []
    for value in (None, 3, "text", b"bytes", [1, 2], {"a": chart}, mpl.rcParams):
        assert pictures_in(value) == []


def test_a_grid_of_seaborn_is_described_and_sent_as_its_figure() -> None:
    """The package is not needed: a class of its module, which holds the figure as its grids do."""
    grid = type("FacetGrid", (), {"__module__": "seaborn.axisgrid", "figure": _figure()})()
    described = json.loads(to_content(grid)[0])
    assert (described["type"], described["axes"]) == ("matplotlib figure", [{"type": "matplotlib axes", "n_lines": 1}])
    assert [part.mime_type for part in images_in(grid)] == ["image/png"]
    plain = type("Plot", (), {"__module__": "seaborn._core.plot"})()
    assert to_content(plain)[0] == "<seaborn.Plot object>"
