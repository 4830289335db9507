"""The README and the other pages: each command is one that CI runs, each link leads somewhere, nothing lags behind."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = ("make", "scripts/", "pip", "python", "jupyter", "docker", "apt-get", "npm", "git", "./")


def commands() -> set[str]:
    """Shell lines of fenced blocks, and inline code that starts as a command does."""
    text = README + (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Commands")[2]
    blocks = re.findall(r"```(\w*)\n(.*?)```", text, re.DOTALL)
    lines = {line.strip() for language, block in blocks if language in ("", "sh", "bash") for line in block.splitlines()}
    inline = set(re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL)))
    return {line for line in lines | inline if line.startswith(COMMANDS) and (" " in line or "/" in line)}


# Who runs a command of the README, or all that it consists of, in CI.
RUN_BY = {
    "make demo": ("tests/notebooks/test_notebook.py", '"demo.py"'),
    "make test": (".ci/run", "make test"),
    "make check": (".ci/run", "scripts/check"),
    "make notebooks": ("tests/test_readme.py", "scripts/notebooks.py"),
    "make test-matrix": ("tests/test_readme.py", "scripts/matrix.py"),
    "make release-check": ("tests/test_release.py", "release.smoke"),
    "make binder-check": ("tests/test_release.py", "binder.peak_bytes"),
    "make bench": ("tests/test_readme.py", "tests.benchmarks"),
    "make clean": ("tests/test_readme.py", "test_make_clean"),
    "make pictures": ("tests/test_readme.py", "scripts/pictures.py"),
    "make docs": ("tests/test_site.py", "site.build"),
}


def test_every_command_is_run_in_ci() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in commands():
        program, _, rest = command.partition(" ")
        if program == "make":
            assert re.search(rf"^{re.escape(rest.split()[0])}:", makefile, re.MULTILINE), command
            place, needle = RUN_BY[f"make {rest.split()[0]}"]
            assert needle in (ROOT / place).read_text(encoding="utf-8"), f"{place} does not run {command}"
        elif program == "python":
            assert command.removeprefix("python ") in makefile, command
        elif program == "pip":  # the built wheel stands in for the published package
            extra = re.fullmatch(r"pip install 'hermes-nb\[(\w+)\]'", command)
            assert extra is not None, command
            script = (ROOT / "scripts" / "release.py").read_text(encoding="utf-8")
            tried = re.search(r"^EXTRAS = (.*)$", script, re.MULTILINE)
            assert tried is not None
            assert f'"{extra[1]}"' in tried[1], command
        else:
            assert (ROOT / program).is_file(), command


@pytest.mark.parametrize(
    "arguments",
    [
        ["scripts/matrix.py", "--list"],
        ["scripts/notebooks.py", "--help"],
        ["scripts/release.py", "--help"],
        ["scripts/binder.py", "--help"],
        ["scripts/pictures.py", "--help"],
        ["-m", "tests.benchmarks", "--help"],
    ],
    ids=lambda arguments: arguments[-2],
)
def test_its_scripts_start(arguments: list[str]) -> None:
    ran = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout


def test_make_clean_takes_away_what_is_made(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text((ROOT / "Makefile").read_text(encoding="utf-8"), encoding="utf-8")
    for made in (".venv/bin", "a/__pycache__", ".mypy_cache", "dist"):
        (tmp_path / made).mkdir(parents=True)
    (tmp_path / "a" / "kept.py").touch()
    subprocess.run(["make", "clean"], cwd=tmp_path, check=True, capture_output=True)
    assert sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*")) == ["Makefile", "a", "a/kept.py"]


def pages() -> dict[str, str]:
    """Text of each Markdown page, and of the Markdown cells of each notebook, by path."""
    found = {
        str(p.relative_to(ROOT)): p.read_text(encoding="utf-8") for p in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    }
    for path in ROOT.glob("notebooks/*.ipynb"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        found[str(path.relative_to(ROOT))] = "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    return found


def prose(text: str) -> str:
    return re.sub(r"```.*?```", "", text, flags=re.DOTALL)


def anchors(text: str) -> set[str]:
    """What can follow `#`, as GitHub makes it of headings."""
    heads = re.findall(r"^#+ (.+)$", prose(text), re.MULTILINE)
    words = [re.sub(r"[^\w\- ]", "", re.sub(r"\[(.*?)\]\(.*?\)", r"\1", head)) for head in heads]
    return {word.strip().lower().replace(" ", "-") for word in words}


def test_every_link_leads_somewhere() -> None:
    """Files and anchors are looked for; of addresses elsewhere only the form is checked: CI must not hang on others."""
    faults, n_links = [], 0
    for page, text in pages().items():
        for target in re.findall(r"\]\(([^)]*)\)", re.sub(r"`[^`\n]*`", "", prose(text))):
            n_links += 1
            if re.match(r"[a-z]+:", target):
                if not re.fullmatch(r"https://[a-z0-9.-]+\.[a-z]{2,}(/[\w./%?=&@:~+#-]*)?", target):
                    faults.append(f"{page}: {target} is no address")
                continue
            name, _, anchor = target.partition("#")
            path = (ROOT / page).parent / name if name else ROOT / page
            if not path.exists():
                faults.append(f"{page}: there is no {name}")
            elif anchor and anchor not in anchors(path.read_text(encoding="utf-8")):
                faults.append(f"{page}: {name} has no #{anchor}")
    assert faults == []
    assert n_links > 30


def test_pages_written_from_the_code_are_up_to_date() -> None:
    """The badge, the sub-commands and the events: all of them, as they are today."""
    readme = _script("readme")
    from hermes_nb.magics import _subcommand

    assert len(_subcommand.names()) > 15
    for path, text in readme.written().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run scripts/readme.py"


def test_the_repository_is_named_in_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    readme = _script("readme")
    monkeypatch.setattr(readme, "REPOSITORY", "ada/fork")
    assert "mybinder.org/v2/gh/ada/fork/HEAD" in readme.readme(README)


def test_the_readme_is_one_page() -> None:
    assert len(README.splitlines()) <= 120


def test_every_sub_command_is_shown_by_the_first_notebook_s_help() -> None:
    from hermes_nb.magics import _subcommand

    shown = (ROOT / "notebooks" / "01_hello.ipynb").read_text(encoding="utf-8")
    lacking = [name for name in _subcommand.names() if f"  {name} " not in shown]
    assert lacking == [], "run scripts/notebooks.py --write 01_hello"


def test_every_notebook_is_in_the_readme() -> None:
    for path in ROOT.glob("notebooks/*.ipynb"):
        assert f"(notebooks/{path.name})" in README


def _script(name: str) -> ModuleType:
    """A module of scripts/, imported anew."""
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(ROOT / "scripts"))
    return module


def test_what_was_tried_is_what_the_matrix_tries() -> None:
    matrix = _script("matrix")
    page = (ROOT / "docs" / "reference" / "compatibility.md").read_text(encoding="utf-8")
    table = page.partition("\n## ")[0].lower()
    for cell in matrix.CELLS:
        name, _, version = cell.name.partition("-")
        assert name in table, cell.name
        assert version in table, cell.name


def test_the_tests_that_the_matrix_names_are_there() -> None:
    matrix = _script("matrix")
    named = {test.partition("::")[0] for cell in matrix.CELLS for test in (*cell.tests, *cell.deselected)}
    assert sorted(test for test in named if not (ROOT / test).exists()) == []


def test_the_two_commands_come_first() -> None:
    assert README.index("make demo") < README.index("make test") < README.index("%load_ext")


def test_ci_runs_the_readme_test_command() -> None:
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert re.search(r"^\s*(exec )?make test", ci, re.MULTILINE)
    recipe = re.search(r"^test:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert recipe is not None
    for step in re.findall(r"scripts/\w+(?: \w+)?", recipe[1]):
        assert step in ci


def test_scripts_are_executable_and_parse() -> None:
    for script in [ROOT / ".ci" / "run", *(p for p in (ROOT / "scripts").iterdir() if p.suffix == "" and p.is_file())]:
        assert script.stat().st_mode & 0o111, script
        subprocess.run(["bash", "-n", str(script)], check=True)
        # macOS has bash 3.2.
        newer = r"\b(?:mapfile|readarray|coproc|declare -[Ang])\b|\$\{\w+(?:\[@\])?(?:,|\^|@)|&>>|\|&"
        assert re.findall(newer, script.read_text(encoding="utf-8")) == [], script


def test_every_make_target_has_help() -> None:
    targets = re.findall(r"^([a-z-]+):(.*)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert [target for target, rest in targets if "##" not in rest] == []


def test_every_subcommand_named_in_the_readme_exists() -> None:
    from hermes_nb import _registry

    pages_ = {path: text for path, text in pages().items() if path != "docs/guides/extending.md"}
    named = {word for text in [README, *pages_.values()] for word in re.findall(r"`%%?hermes ([a-z]+)", text)}
    assert len(named) > 15
    assert named <= set(_registry.names("magics.subcommands"))
