"""Every command in the README is one that the Makefile or CI runs."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = ("make", "scripts/", "pip", "python", "jupyter", "docker", "apt-get", "npm", "git", "./")


def commands() -> set[str]:
    """Shell lines of fenced blocks, and inline code that starts as a command does."""
    blocks = re.findall(r"```(\w*)\n(.*?)```", README, re.DOTALL)
    lines = {line.strip() for language, block in blocks if language in ("", "sh", "bash") for line in block.splitlines()}
    inline = set(re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", README, flags=re.DOTALL)))
    return {line for line in lines | inline if line.startswith(COMMANDS) and (" " in line or "/" in line)}


def test_every_command_is_known_to_make_or_ci() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in commands():
        program, _, rest = command.partition(" ")
        if program == "make":
            assert re.search(rf"^{re.escape(rest.split()[0])}:", makefile, re.MULTILINE), command
        elif program == "python":
            assert command.removeprefix("python ") in makefile, command
        else:
            assert (ROOT / program).is_file(), command


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


def test_every_make_target_has_help() -> None:
    targets = re.findall(r"^([a-z-]+):(.*)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert [target for target, rest in targets if "##" not in rest] == []


def test_every_subcommand_named_in_the_readme_exists() -> None:
    from hermes_nb import _registry

    named = set(re.findall(r"%hermes (\w+)", README))
    assert named <= set(_registry.names("magics.subcommands"))
