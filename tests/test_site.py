"""The site: it builds without a warning, its links lead somewhere, it names all there is, and its code runs."""

from __future__ import annotations

import importlib.util
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from hermes_nb import _settings, _window, errors
from hermes_nb.model import event, status
from tests.magics.kernel import Kernel

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
# Pages whose code belongs to a package of its own (tests/magics/test_plugin.py runs it).
ELSEWHERE = {"guides/extending.md"}


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def site() -> ModuleType:
    spec = importlib.util.spec_from_file_location("site_script", ROOT / "scripts" / "site.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["site_script"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_builds_without_a_warning_and_without_a_broken_link(site: ModuleType) -> None:
    assert site.build() == []
    html = {path.relative_to(site.SITE).as_posix() for path in site.SITE.rglob("*.html")}
    assert {"index.html", "reference/python.html", "tutorial/01_hello.html", "changelog.html"} <= html
    assert "gapminder" in (site.SITE / "search.json").read_text(encoding="utf-8").lower()  # words of a notebook are found
    assert not re.search(
        r'(?:src|href)="https?://[^"]*\.(?:css|js|woff2?)"', (site.SITE / "index.html").read_text(encoding="utf-8")
    )
    shown = (site.SITE / "tutorial" / "01_hello.html").read_text(encoding="utf-8")
    assert shown.count('<template shadowrootmode="open">') > 3  # outputs have no style of the site's
    assert "[Tools]" in (site.SITE / "llms.txt").read_text(encoding="utf-8")


def test_a_broken_link_of_a_built_page_is_found(site: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<a href="b.html#there">x</a><a href="b.html#gone">x</a><img src="no.png"><a href="https://x.y">z</a>'
    )
    (tmp_path / "b.html").write_text('<h2 id="there">There</h2>')
    assert site.broken_links(tmp_path) == ["a.html: b.html#gone", "a.html: no.png"]


def test_links_of_the_repository_become_links_of_the_site(site: ModuleType) -> None:
    text = "[a](../../notebooks/01_hello.ipynb) [b](tools.md#types) [c](../../SECURITY.md) [d](../../Makefile) [e](https://x.y)\n```\n[f](g)\n```"
    assert site.relinked(text, "docs/guides/map.md", "guides/map.md") == (
        "[a](../tutorial/01_hello.md) [b](tools.md#types) [c](../security.md) d [e](https://x.y)\n```\n[f](g)\n```"
    )


def test_every_page_and_notebook_is_in_the_navigation(site: ModuleType) -> None:
    navigation = set(re.findall(r"\b([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE))
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    notebooks = {f"tutorial/{path.stem}.md" for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert navigation == pages | notebooks | set(site.PAGES.values())


def test_the_diagrams_are_as_their_script_draws_them() -> None:
    done = subprocess.run([sys.executable, "scripts/diagrams.py", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


def test_every_public_name_is_in_the_reference() -> None:
    told = set(re.findall(r"^::: hermes_nb\.(\w+)$", page("reference/python.md"), re.MULTILINE))
    assert told == {name for names in _window.EXPORTS.values() for name in names}


def test_every_error_has_its_cause_and_its_cure() -> None:
    text = page("reference/errors.md")
    parts = dict(re.findall(r"^### (\w+)\n\n(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL))
    classes = {n: c for n, c in vars(errors).items() if inspect.isclass(c) and issubclass(c, Exception)}
    assert set(parts) == set(classes)
    bases = {c.__base__.__name__ for c in classes.values() if c.__base__ is not None}
    for name, told in parts.items():
        assert name in bases or ("**Cause:**" in told and "**Cure:**" in told), name


def test_every_event_and_status_is_in_the_reference() -> None:
    text = page("reference/events.md")
    assert [kind for kind in sorted(event.KINDS) if f"`{kind}`" not in text] == []
    statuses = {*status.SPAN_STATUSES, *status.TurnStatus.__args__, *status.HandleStatus.__args__}
    assert [name for name in sorted(statuses) if f"`{name}`" not in text] == []


def test_every_setting_of_the_package_is_in_the_reference() -> None:
    named = {
        name
        for path in (ROOT / "hermes_nb").rglob("*.py")
        for name in re.findall(r"\b(HERMES_NB_[A-Z_]*[A-Z])\b", path.read_text(encoding="utf-8"))
    }
    assert _settings.DECLARED in named
    assert named == set(
        re.findall(r"`(HERMES_NB_[A-Z_]+)`", page("reference/settings.md").partition("Keys of providers")[0])
    )


def blocks(name: str) -> list[str]:
    """The cells of a page: its blocks of Python, magics included."""
    return re.findall(r"^```python\n(.*?)^```", page(name), re.MULTILINE | re.DOTALL)


PAGES = sorted(
    path.relative_to(DOCS).as_posix()
    for path in DOCS.rglob("*.md")
    if "```python" in path.read_text(encoding="utf-8") and path.relative_to(DOCS).as_posix() not in ELSEWHERE
)


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    made = Kernel(tmp_path_factory.mktemp("site"), {"HERMES_NB_MODEL": "offline"})
    yield made
    made.close()


@pytest.mark.kernel
@pytest.mark.hermes
@pytest.mark.parametrize("name", PAGES)
def test_the_code_of_each_page_runs(kernel: Kernel, name: str) -> None:
    kernel.ok("%reset -f")  # each page begins as its reader does: with nothing
    for source in blocks(name):
        kernel.ok(source.rstrip("\n"))
