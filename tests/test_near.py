"""The nearest known name: a slip of the hand is mended, another word is not taken for one."""

from __future__ import annotations

import inspect

import pytest

from hermes_nb._near import OPTIONS_OF, near, suggesting, suggesting_methods, unknown_options


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("idempotency_kye", "idempotency_key"),
        ("max_cost", "max_cost_usd"),
        ("max_tokenz", "max_tokens"),
        ("--sesion", "--session"),
        ("DF", "df"),
        ("dokcer", "docker"),
    ],
)
def test_a_slip_of_the_hand_names_what_was_meant(name: str, meant: str) -> None:
    assert near(name, ["idempotency_key", "max_cost_usd", "max_tokens", "--session", "df", "docker", "open"]) == (
        f" Did you mean {meant!r}?"
    )


@pytest.mark.parametrize(("name", "known"), [("nope", "open"), ("x", "xarray_data"), ("", "df"), ("abc", "xyz")])
def test_another_word_is_not_near(name: str, known: str) -> None:
    assert near(name, [known]) == ""


def test_unknown_options_are_listed_with_what_is_known_where_nothing_is_near() -> None:
    assert unknown_options("run", ["a"], ["a"]) is None
    assert unknown_options("run", ["colour", "tiemout"], ["color", "timeout"]) == (
        "run takes no 'colour'. Did you mean 'color'? run takes no 'tiemout'. Did you mean 'timeout'?"
    )
    assert unknown_options("run", ["zzz"], ["timeout", "again"]) == "run takes no 'zzz'. Known: again, timeout."


def test_a_constructor_names_the_nearest_of_its_options() -> None:
    @suggesting
    class Thing:
        def __init__(self, *, retries: int = 0) -> None:
            self.retries = retries

    assert Thing(retries=2).retries == 2
    with pytest.raises(TypeError, match=r"Thing takes no 'retires'\. Did you mean 'retries'\?"):
        Thing(retires=2)  # type: ignore[call-arg]


def test_an_option_of_something_else_is_named_with_what_has_it() -> None:
    assert unknown_options("run", ["instruction"], ["timeout_s"]) == (
        "run takes no 'instruction'. 'instructions' is an option of Agent. Known: timeout_s."
    )
    assert unknown_options("Agent", ["api_key"], ["name"]) == (
        "Agent takes no 'api_key'. 'api_key' is an option of Model. Known: name."
    )


def test_what_is_said_to_have_an_option_has_it() -> None:
    import hermes_nb

    for owner, options in OPTIONS_OF.items():
        thing = getattr(hermes_nb.BoundAgent, owner, None) or getattr(hermes_nb, owner.partition(".")[0])
        for part in owner.split(".")[1:]:
            thing = getattr(thing, part)
        assert set(options) <= set(inspect.signature(thing).parameters), owner


@suggesting_methods
class Thing:
    def __init__(self) -> None:
        self.seen: list[object] = []

    def show(self, text: str, /, *, colour: str = "") -> str:
        return text + colour

    @classmethod
    def made(cls, size: int = 0) -> Thing:
        return cls()

    @staticmethod
    def of(size: int = 0) -> int:
        return size

    async def wait(self, timeout_s: float = 0.0) -> float:
        return timeout_s

    def anything(self, **options: object) -> dict[str, object]:
        return options


async def test_public_methods_of_each_kind_name_the_nearest_of_their_options() -> None:
    thing = Thing()
    for wrong in (
        lambda: thing.show("a", color=""),  # type: ignore[call-arg]
        lambda: Thing.made(sise=1),  # type: ignore[call-arg]
        lambda: thing.of(sise=1),  # type: ignore[call-arg]
    ):
        with pytest.raises(TypeError, match=r"Thing\.\w+ takes no '\w+'\. Did you mean '(colour|size)'\?"):
            wrong()
    with pytest.raises(TypeError, match=r"Thing.wait takes no 'timeout'\. Did you mean 'timeout_s'\?"):
        await thing.wait(timeout=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"Thing.show takes no 'text'"):
        thing.show(text="a")  # type: ignore[call-arg]


async def test_what_is_right_is_as_before() -> None:
    thing = Thing()
    assert thing.show("a", colour="b") == "ab"
    assert isinstance(Thing.made(size=1), Thing)
    assert Thing.of(3) == 3
    assert await thing.wait(timeout_s=2.0) == 2.0
    assert thing.anything(tiemout=1) == {"tiemout": 1}
    assert inspect.iscoroutinefunction(Thing.wait)
    assert list(inspect.signature(Thing.show).parameters) == ["self", "text", "colour"]
    with pytest.raises(TypeError, match="missing 1 required"):
        thing.show()  # type: ignore[call-arg]
