"""An image for a prompt, from what a notebook has: a figure, a picture, a file."""

from __future__ import annotations

import base64
import io
import sys
from pathlib import Path
from typing import Any

from hermes_nb.errors import UsageError
from hermes_nb.model.content import ContentPart

MAX_BYTES = 20_000_000  # what the large providers take at most for one image
MAX_ALONG = 4  # images that are sent along with one result of a tool
MAX_SHOWN = 16  # pictures of one result that the cell shows
MAX_ALONG_CHARS = 4_000_000  # of base64, each
_MAX_PARTS = 64  # of a list of axes or lines, which may all be of one figure
_PNG_MODES = frozenset({"1", "L", "LA", "I;16", "P", "RGB", "RGBA"})

# Classes of what is looked at; none is imported here.
_PICTURES = (
    ("matplotlib.figure", "Figure"),
    ("plotly.basedatatypes", "BaseFigure"),
    ("PIL.Image", "Image"),
    ("IPython.core.display", "DisplayObject"),
    ("ipywidgets.widgets.domwidget", "DOMWidget"),
)

# First bytes -> MIME type: the formats that models take.
_KINDS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "image/webp"),
)


def image_part(name: str, value: Any) -> ContentPart:
    """The value as a part of a prompt.

    Args:
        name: What people call it, for errors.
        value: A matplotlib figure or axes, a Plotly figure (needs kaleido), a PIL image, an IPython Image, bytes of a PNG,
            JPEG, GIF or WebP, or the path of such a file. Neither library is imported here.

    Raises:
        UsageError: It is none of these, too large, or can't be drawn.
    """
    data = _bytes(name, value)
    mime_type = next((kind for start, kind in _KINDS if data.startswith(start)), None)
    if mime_type is None:
        raise UsageError(f"{name} is no PNG, JPEG, GIF or WebP image. Give a figure, a picture, or a file of these.")
    if len(data) > MAX_BYTES:
        raise UsageError(f"{name} has {len(data) / 1e6:.1f} MB; {MAX_BYTES / 1e6:.0f} MB are the most. Make it smaller.")
    return ContentPart("image", data=base64.b64encode(data).decode("ascii"), mime_type=mime_type)


def images_in(value: Any) -> list[ContentPart]:
    """The images that a tool's value is or lists, drawn; [] for anything else, and for what is too large to send along.

    A Plotly figure is none of them: drawing one starts a browser.
    """
    found: list[ContentPart] = []
    for one in _drawn_once(value):
        if isinstance(one, str | Path) or _is(one, "plotly.graph_objects", "Figure"):
            continue  # a text is no name of a file here
        try:
            part = image_part("it", one)
        except UsageError:  # what can't be drawn is still described
            continue
        if len(part.data) <= MAX_ALONG_CHARS:
            found.append(part)
    return found


def pictures_in(value: Any) -> list[Any]:
    """What of a value a person wants to look at: figures, charts, pictures, what IPython displays; [] for anything else."""
    return [one for one in _drawn_once(value, MAX_SHOWN) if _is_picture(one)]


def _is_picture(value: Any) -> bool:
    kind = type(value)
    return (
        any(_is(value, module, name) for module, name in _PICTURES)
        or any(hasattr(kind, f"_repr_{form}_") for form in ("png", "jpeg", "svg"))
        or (kind.__module__.startswith("altair.") and hasattr(kind, "_repr_mimebundle_"))
    )


def _drawn_once(value: Any, most: int = MAX_ALONG) -> list[Any]:
    """What a value is or lists, [] for more than `most`; for part of a figure (axes, lines of a plot) that figure, once."""
    if _is(value, "numpy", "ndarray") and value.dtype == object and value.size <= _MAX_PARTS:
        value = value.ravel().tolist()
    listed = value if isinstance(value, list | tuple) and len(value) <= _MAX_PARTS else [value]
    figures: list[Any] = []
    for one in listed:
        figure = _figure_of(one)
        if figure is None or not any(figure is known for known in figures):
            figures.append(one if figure is None else figure)
    return figures if len(figures) <= most else []


def _figure_of(value: Any) -> Any:
    """The matplotlib figure that a value is, or is part of; also that of a seaborn grid. None when there is none."""
    if _is(value, "matplotlib.figure", "Figure"):
        return value
    if _is(value, "matplotlib.artist", "Artist") or type(value).__module__.startswith("seaborn."):
        figure = getattr(value, "figure", None)
        figure = getattr(figure, "figure", figure)  # of a subfigure
        return figure if _is(figure, "matplotlib.figure", "Figure") else None
    return None


def _bytes(name: str, value: Any) -> bytes:
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    if isinstance(value, str | Path):
        try:
            return Path(value).expanduser().read_bytes()
        except OSError as exc:
            raise UsageError(f"{name} can't be read as a file: {exc.strerror or exc}.") from exc
    figure = _figure_of(value)
    if figure is not None:
        return _written(name, lambda file: figure.savefig(file, format="png", bbox_inches="tight"))
    if _is(value, "PIL.Image", "Image"):
        mode = value.mode if value.mode in _PNG_MODES else "I;16" if value.mode == "I" else "RGB"
        return _written(name, lambda file: value.convert(mode).save(file, format="PNG"))
    if _is(value, "IPython.display", "Image") and isinstance(value.data, bytes):
        return bytes(value.data)
    if _is(value, "plotly.graph_objects", "Figure"):
        try:
            return bytes(value.to_image(format="png"))
        except (ValueError, ImportError, RuntimeError) as exc:
            raise UsageError(
                f"{name} is a Plotly figure, which needs kaleido to become an image. Run %pip install kaleido."
            ) from exc
    raise UsageError(
        f"{name} is of type {type(value).__name__}, which is no image. Give a matplotlib or Plotly figure, a PIL image,"
        " bytes or a path."
    )


def _is(value: Any, module: str, name: str) -> bool:
    """Whether it is of a class of a module that somebody has imported."""
    found = getattr(sys.modules.get(module), name, None)
    return isinstance(found, type) and isinstance(value, found)


def _written(name: str, write: Any) -> bytes:
    file = io.BytesIO()
    try:
        write(file)
    except Exception as exc:
        raise UsageError(f"{name} can't be drawn: {type(exc).__name__}: {exc}".rstrip(".") + ".") from exc
    return file.getvalue()
