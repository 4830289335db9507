"""`%hermes doctor` names what keeps each agent from its model: keys, certificates, proxies, packages, engines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hermes_nb._settings import PROXY_VARIABLES
from hermes_nb.engine.connection_fault import CA_VARIABLES
from hermes_nb.testing import Say, ScriptedModel, Step
from tests.magics.kernel import Kernel

Run = Callable[[str], str]
KEY = "sk-abcdefgh12345678"


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*PROXY_VARIABLES, *CA_VARIABLES, "NO_PROXY", "no_proxy", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)


def test_keys_of_all_providers_are_listed_and_those_that_cannot_be_sent_named(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("GROQ_API_KEY", "sk-ключ-12345678")
    monkeypatch.setenv("XAI_API_KEY", KEY)
    said = run("%hermes doctor")
    assert (
        "OPENAI_API_KEY; the first one is used; for agents that name their provider also: GROQ_API_KEY, XAI_API_KEY" in said
    )
    assert "The key in GROQ_API_KEY can't be sent: its character 4 of 16 is CYRILLIC SMALL LETTER KA" in said
    assert "12345678" not in said


def test_the_proxy_and_the_certificates_that_count_are_shown_without_a_password(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    said = run("%hermes doctor")
    assert "proxy" not in said
    assert "certificates" not in said
    empty = tmp_path / "empty.pem"
    empty.write_text("no certificate\n")
    monkeypatch.setenv("HTTPS_PROXY", "http://user:open-sesame@proxy:3128")
    monkeypatch.setenv("NO_PROXY", "inner.example")
    monkeypatch.setenv("SSL_CERT_FILE", str(empty))
    said = run("%hermes doctor")
    assert "HTTPS_PROXY=http://[masked]@proxy:3128, but not for inner.example, localhost, 127.0.0.1, ::1" in said
    assert f"SSL_CERT_FILE={empty}" in said
    assert "SSL_CERT_FILE names a file without a certificate (PEM), so no model can be asked" in said
    assert "sesame" not in said


def test_variables_of_a_runtime_are_looked_at_too(run: Run) -> None:
    run("from hermes_nb import Agent, Process\np = Process(options={'environment': {'SSL_CERT_FILE': '/no/such.pem'}})")
    run("a = Agent('a', model='offline')\n%hermes agent a --on p")
    assert "Process p of agent 'a': SSL_CERT_FILE names a file of certificates that is not there" in run("%hermes doctor")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("gone", None, "The executable 'gone' can't be read: No such file or directory."),
        ("script", "#!/usr/bin/env node\n", "'script' is a script of"),
        (
            "bare",
            "#!/no/such/python3\n",
            "The interpreter '/no/such/python3', named by the first line of 'bare', can't be used: ",
        ),
    ],
)
def test_an_executable_that_hosts_no_hermes_is_on_the_card_and_a_trap(
    run: Run, name: str, content: str | None, said: str
) -> None:
    if content is not None:
        Path(name).write_text(content)
    run("from hermes_nb import Agent, Process")
    card = run(f"p = Process(executable={name!r})\na = Agent('a', model='offline')\n%hermes agent a --on p")
    (line,) = (line for line in card.splitlines() if line.split()[:1] == ["engine"])
    assert said in line
    told = run("%hermes doctor")
    assert f"Process p of agent 'a': {said}" in told


def test_a_variable_of_the_runtime_that_is_gone_is_said_and_no_error(run: Run) -> None:
    run("from hermes_nb import Agent, Process\np = Process()\na = Agent('a', model='offline')")
    run("%hermes agent a --on p")
    run("del p")
    assert "agent 'a' runs on p, which" in run("%hermes doctor")


def test_places_of_a_started_worker_are_named_relative_to_the_notebook(run: Run, tmp_path: Path) -> None:
    run("from hermes_nb import Agent\na = Agent('a', model='offline')\n%hermes agent a")
    said = run("%hermes doctor")
    assert "log: .hermes-nb/instances/default/worker.log" in said
    assert str(tmp_path) not in said


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    def answer(request: object) -> Step:
        return Say("hello")

    with ScriptedModel(answer) as model:
        yield model


@pytest.mark.hermes
def test_agents_that_cannot_be_asked_are_named_with_the_cause(tmp_path: Path, model: ScriptedModel) -> None:
    kernel = Kernel(tmp_path, {"ANTHROPIC_API_KEY": "sk-ant-0123456789abcdef", "NO_PROXY": "*"})
    try:
        kernel.ok("%load_ext hermes_nb\nimport os\nfrom hermes_nb import Agent, Model")
        kernel.ok(f"good = Agent('good', model=Model('m', 'custom', {str(model.model.base_url)!r}, {KEY!r}))")
        kernel.ok("lost = Agent('lost', model=Model('m', 'custom', 'http://nosuch.invalid/v1', 'k'))")
        kernel.ok("claude = Agent('claude', model='anthropic:claude-sonnet-4-5')")
        for name in ("good", "lost", "claude"):
            kernel.ok(f"%hermes agent {name}")
        kernel.ok("%hermes run -a good hi")
        kernel.run("%hermes run -a lost hi")
        kernel.run("%hermes run -a claude hi")
        said = kernel.ok("%hermes doctor").text
        assert "agent 'lost': its last turn failed: The name 'nosuch.invalid' is not known" in said
        assert "agent 'claude' can't be bound: Provider 'anthropic' speaks Anthropic's protocol" in said
        assert "agent 'good'" not in said
        kernel.ok("lost = Agent('lost', model=good.model)\n%hermes run -a lost hi")
        assert "agent 'lost'" not in kernel.ok("%hermes doctor").text
        kernel.ok("os.environ['SSL_CERT_FILE'] = '/no/such.pem'")
        kernel.run("%hermes run -a good hi")
        said = kernel.ok("%hermes doctor").text
        assert "agent 'good': its last turn failed: The file of certificates that SSL_CERT_FILE names is not there" in said
        assert "no reason given" not in said
    finally:
        kernel.close()
