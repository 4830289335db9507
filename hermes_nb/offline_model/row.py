"""Rows in a prompt: like things joined by commas and `and`, as `Paris, Rome and Oslo`."""

from __future__ import annotations

from hermes_nb.offline_model.scene import Scene, TextSpan

_BETWEEN = frozenset({",", "and", "or", "&", "the", "a", "an", "in", "for", "of", "on", "to", "at", "also", "from"})


def rows(scene: Scene) -> list[list[TextSpan]]:
    """The rows of a scene; found once."""
    if scene.rows is None:
        scene.rows = _rows(scene)
    return scene.rows


def _rows(scene: Scene) -> list[list[TextSpan]]:
    runs: list[list[TextSpan]] = []
    for forms in (
        ("quoted", "code", "path", "date"),
        ("proper", "caps"),
        ("ident",),
        ("chunk", "ident", "proper", "quoted", "caps", "code"),
    ):
        spans = _widest([s for s in scene.spans if s.form in forms])
        run: list[TextSpan] = []
        for span in spans:
            if run and _is_joint(scene.text[run[-1].end : span.start], with_too="chunk" not in forms):
                run.append(span)
                continue
            if len(run) > 1:
                runs.append(run)
            run = [span]
        if len(run) > 1:
            runs.append(run)
    return runs


def _is_joint(between: str, *, with_too: bool) -> bool:
    words = between.replace(",", " , ").lower().split()
    if words == ["with"]:
        return with_too  # `combine 'a' with 'b'`
    joints = sum(w in (",", "and", "or", "&") for w in words)
    return 1 <= joints <= 2 and len(words) - joints <= 2 and all(w in _BETWEEN for w in words)


def _widest(spans: list[TextSpan]) -> list[TextSpan]:
    """The spans that no other contains, in order."""
    kept: list[TextSpan] = []
    start = end = -1  # the span so far that reaches furthest
    for span in sorted(spans, key=lambda s: (s.start, -s.end)):
        if end > span.end or (end == span.end and start < span.start):
            continue
        kept.append(span)
        if span.end > end:
            start, end = span.start, span.end
    return kept
