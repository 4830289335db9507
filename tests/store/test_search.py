import pytest

from hermes_nb.store.sqlite import Store

from .conftest import event, turn_events


async def found(store: Store, text: str) -> list[tuple[str, str]]:
    return [(hit.turn_id, hit.part) for hit in await store.search(text)]


@pytest.fixture
async def filled(store: Store) -> Store:
    await store.ingest(turn_events(1, prompt="Which café earns most?", text="The revenue of **Ada** grew by 40 %."))
    await store.ingest(turn_events(2, prompt="今日の売上は?", text='C++ and O\'Brien said "no".'))
    return store


@pytest.mark.parametrize(
    ("text", "hits"),
    [
        ("cafe", [("t1", "prompt")]),
        ("REVENUE ada", [("t1", "answer")]),
        ("reven", [("t1", "answer")]),
        ("venue", [("t1", "answer")]),
        ("売上", [("t2", "prompt")]),
        ("o'brien", [("t2", "answer")]),
        ('said "no"', [("t2", "answer")]),
        ("C++", [("t2", "answer")]),
        ("revenue café", []),
        ("NEAR( * ^ :", []),
        ("", []),
        ("%", [("t1", "answer")]),
    ],
)
async def test_search_takes_any_text(filled: Store, text: str, hits: list[tuple[str, str]]) -> None:
    assert await found(filled, text) == hits


async def test_a_hit_says_where_and_shows_the_words_around(filled: Store) -> None:
    (hit,) = await filled.search("earns")
    assert (hit.session_id, hit.agent, hit.title) == ("s", "analyst", "Which café earns most?")
    assert hit.excerpt == "Which café [earns] most?"


async def test_what_was_stored_twice_is_found_once(filled: Store) -> None:
    await filled.ingest(turn_events(1, prompt="Which café earns most?"))
    assert await found(filled, "earns") == [("t1", "prompt")]


async def test_only_prompts_and_answers_are_searched(filled: Store) -> None:
    await filled.ingest([event(90, text="zebra"), event(91, "tool.completed", result="zebra")])
    assert await found(filled, "zebra") == []
    await filled.ingest([event(92, "turn.failed", turn="t9", text="half a zebra", error="gone")])
    assert await found(filled, "zebra") == [("t9", "answer")]


async def test_limit_bounds_the_hits(filled: Store) -> None:
    for n in range(3, 9):
        await filled.ingest(turn_events(n, prompt="again", text=""))
    assert len(await filled.search("again", limit=4)) == 4
    assert await filled.search("again", limit=0) == []
