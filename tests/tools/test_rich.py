"""Objects that show something in a notebook are told to the model so."""

from __future__ import annotations

from hermes_nb.tools.rendering.result import render


class Rich:
    def __init__(self, **shown):
        self._shown = shown

    def _repr_mimebundle_(self, include=None, exclude=None):
        return self._shown.get("bundle")

    def _repr_html_(self):
        return self._shown["html"]


def test_an_object_that_shows_something_in_a_notebook_is_told_so():
    from IPython.display import HTML, Markdown

    assert render(HTML("<b>x</b>")).content == "<b>x</b>"
    assert render(Markdown("# x")).content == "# x"
    assert render(Rich(html="<i>")).content == "<i>"
    assert render(Rich(bundle={"text/plain": "plain", "text/html": "<i>"}, html="<i>")).content == "plain"
    assert render(Rich(bundle=({"text/html": "<u>"}, {}), html="<i>")).content == "<u>"
    assert render(Rich()).content == "<tests.Rich object>"  # what raises is passed over
    assert render(Rich(html=3)).content == "<tests.Rich object>"
