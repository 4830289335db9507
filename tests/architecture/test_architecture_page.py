"""docs/architecture.md can't lag behind the contracts it describes."""

import re

from . import source

PAGE = (source.ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_the_floors_are_those_of_the_import_contract() -> None:
    table = PAGE.partition("| floor | rooms |")[2].partition("\n\n")[0]
    told = [re.findall(r"`(\w+)`", line) for line in table.splitlines() if "`" in line]
    layers = source.contracts()["Floors: imports point down"]["layers"]
    held = [re.findall(r"\w+", layer) for layer in layers]
    ground = [name for floor in held[-4:] for name in floor]
    assert told == [*held[:-4], ground]


def test_each_room_is_described() -> None:
    rooms = {p.name for p in source.PACKAGE.iterdir() if (p / "__init__.py").exists()}
    assert {room for room in rooms if not re.search(rf"^- `{room}`", PAGE, re.MULTILINE)} == set()


def test_links_lead_somewhere() -> None:
    for page in (source.ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")):
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
