"""What `%hermes doctor --report` writes: enough for a bug report, and no key, prompt, answer or home folder."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from hermes_nb.magics import _report
from hermes_nb.model.mask import MASK, Masker
from hermes_nb.testing import Call, Fail, Say
from tests.magics.conftest import SETUP, Asked
from tests.magics.kernel import Kernel

KEY = "sk-scripted-0123456789abcdef"  # of SETUP's model
OTHER = "sk-or-v1-fedcba9876543210fedcba9876543210"  # of the environment
UNTOLD = "hf_" + "AbCdEfGhIjKlMnOp"  # a key that no variable holds
ASKED = "Which Zanzibar ledger is Quixotic?"


def pieces(key: str) -> list[str]:
    return [key[i : i + 8] for i in range(4, len(key) - 8)]


@pytest.mark.kernel
@pytest.mark.hermes
def test_no_key_no_question_and_no_answer_can_get_in(tmp_path: Path, model: Asked) -> None:
    kernel = Kernel(tmp_path, {"OPENROUTER_API_KEY": OTHER})
    try:
        kernel.ok(SETUP.format(url=model.scripted.base_url))
        kernel.ok(f"""
@tool
def leak(secret: str) -> str:
    "Leak."
    return f"{{model.api_key.get_secret_value()}} {UNTOLD} Zanzibar result"
leaky = Agent('leaky', model=model, tools=[leak])
%hermes agent leaky""")
        steps = iter([Call("leak", {"secret": KEY}), Say(f"Quixotic {KEY} {UNTOLD}"), Fail(401, "Bad key {key} " + UNTOLD)])
        model.answer = lambda request: next(steps)
        kernel.ok(f"%hermes run -a leaky -o answer {ASKED}")
        kernel.run("%hermes run -a leaky -o failed again")
        log = next(tmp_path.rglob("kernel.log"), None)
        worker_logs = [path for path in tmp_path.rglob("*.log") if path != log]
        assert worker_logs
        for path in worker_logs:  # as a library would that prints what it should not
            with path.open("a") as file:
                file.write(f"\nAuthorization: Bearer {OTHER}\n{UNTOLD} {KEY}\n")
                file.write(f"https://me:hunter2@example.org at {Path.home()}/x\n")
        said = kernel.ok("%hermes doctor --report bug.zip").out
    finally:
        kernel.close()
    assert "Wrote bug.zip: doctor.txt, " in said
    bundle = tmp_path / "bug.zip"
    assert bundle.stat().st_mode & 0o077 == 0
    with zipfile.ZipFile(bundle) as file:
        texts = {name: file.read(name).decode() for name in file.namelist()}
    assert {"doctor.txt", "packages.txt", "turns.jsonl"} < set(texts)
    assert any(name.startswith("worker-") for name in texts)
    assert "hermes-agent==0.19" in texts["packages.txt"]
    assert '"kind": "tool.completed"' in texts["turns.jsonl"]
    assert '"kind": "turn.failed"' in texts["turns.jsonl"]
    everything = "\n".join(texts.values())
    for key in (KEY, OTHER, UNTOLD):
        for piece in pieces(key):
            assert piece not in everything, piece
    for private in ("Zanzibar", "Quixotic", "hunter2", f"{Path.home()}/"):
        assert private not in everything, private


@pytest.mark.parametrize(
    "secret",
    [
        "sk-proj-abcdefgh12345678",
        "sk-ant-api03-abcdefgh_12345678",
        "hf_abcdefgh12345678",
        "ghp_abcdefgh12345678ABCD",
        "gsk_abcdefgh1234",
        "AKIAABCDEFGHIJKLMNOP",
        "AIzaSyA1234567890abcdefghijk",
        "xoxb-123456789012-abcdef",
        "eyJhbGciOiJIUzI1.eyJzdWIiOiIx.c2lnbmF0dXJl",
    ],
)
def test_what_looks_like_a_key_is_masked_though_nobody_told_of_it(secret: str) -> None:
    for around in ("{}", "key is {}.", "'{}'", "Authorization: Bearer {}", "https://x.org/?api_key={}&a=1"):
        assert secret[8:] not in _report.clean(around.format(secret), Masker())


def test_honest_text_stays() -> None:
    text = "skip-this hello-world basic usage: input_tokens=12, pip install hermes-nb[widgets] at https://example.org/a@b"
    assert _report.clean(text, Masker()) == text
    assert _report.clean("told-secret-value", Masker(["told-secret-value"])) == MASK
