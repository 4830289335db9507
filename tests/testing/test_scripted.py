"""Each step of a script, seen by the client Hermes uses."""

import threading
import time

import httpx
import openai
import pytest

from hermes_nb.model.agent import Model
from hermes_nb.model.credential import revealed
from hermes_nb.testing import Call, Drop, Fail, Hang, Malformed, Say, ScriptedModel


def ask(scripted, text="Hi", **options):
    model = scripted.model
    with openai.OpenAI(base_url=model.base_url, api_key=revealed(model.api_key), max_retries=0, timeout=20) as client:
        reply = client.chat.completions.create(model=model.id, messages=[{"role": "user", "content": text}], **options)
        return list(reply) if options.get("stream") else reply


def text_of(chunks):
    return "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)


def test_steps_are_taken_in_order_and_logged():
    steps = [Call("add", {"a": 1}), "Three.", Say("Bye", usage=None)]
    with ScriptedModel(steps, model="toy", api_key="sk-1") as scripted:
        assert scripted.model == Model("toy", "custom", base_url=scripted.base_url, api_key="sk-1")
        (call,) = ask(scripted, "one").choices[0].message.tool_calls
        assert (call.id, call.function.name, call.function.arguments) == ("call_1", "add", '{"a": 1}')
        assert ask(scripted, "two").choices[0].message.content == "Three."
        assert scripted.n_left == 1
        last = ask(scripted, "three")
        assert last.usage is None
        scripted.assert_followed()
    assert [r.messages[0]["content"] for r in scripted.requests] == ["one", "two", "three"]
    assert scripted.requests[0].headers["authorization"] == "Bearer sk-1"
    assert scripted.requests[0].at_monotonic_s < scripted.requests[1].at_monotonic_s


def test_several_calls_in_one_reply_may_have_words_before_them():
    with ScriptedModel([[Call("a", text="Looking. "), Call("b", "{broken", id="x")]]) as scripted:
        message = ask(scripted).choices[0].message
    assert message.content == "Looking. "
    assert [(c.id, c.function.name, c.function.arguments) for c in message.tool_calls] == [
        ("call_1", "a", "{}"),
        ("x", "b", "{broken"),
    ]


def test_a_callable_answers_from_the_request():
    with ScriptedModel(lambda request: Say(request.messages[-1]["content"][::-1])) as scripted:
        assert ask(scripted, "abc").choices[0].message.content == "cba"
        assert ask(scripted, "def").choices[0].message.content == "fed"
        with pytest.raises(TypeError, match="no list to extend"):
            scripted.extend(["x"])


def test_a_callable_in_a_list_stands_for_one_step():
    with ScriptedModel([lambda request: Call("f", {"n": len(request.messages)})]) as scripted:
        scripted.extend(["done"])
        assert ask(scripted).choices[0].message.tool_calls[0].function.arguments == '{"n": 1}'
        assert ask(scripted).choices[0].message.content == "done"


def test_a_request_after_the_end_is_refused_and_kept():
    with ScriptedModel("only") as scripted:
        ask(scripted)
        with pytest.raises(openai.BadRequestError, match="The script ended after 1 steps"):
            ask(scripted)
        with pytest.raises(AssertionError, match="1 requests came after"):
            scripted.assert_followed()
    assert len(scripted.unexpected) == 1


def test_steps_left_over_are_told():
    with ScriptedModel(["a", "b"]) as scripted:
        with pytest.raises(AssertionError, match="2 steps"):
            scripted.assert_followed()


@pytest.mark.parametrize(
    ("deltas", "pieces"),
    [(None, ["one", " two", " three"]), (2, ["one tw", "o three"]), (["one two", " three"], ["one two", " three"])],
)
def test_text_streams_in_the_pieces_asked_for(deltas, pieces):
    with ScriptedModel([Say("one two three", deltas=deltas, reasoning="hm")]) as scripted:
        chunks = ask(scripted, stream=True, stream_options={"include_usage": True})
    assert [c.choices[0].delta.content for c in chunks if c.choices and c.choices[0].delta.content] == pieces
    assert chunks[1].choices[0].delta.reasoning_content == "hm"
    assert chunks[-1].usage.total_tokens == 30


def test_twenty_thousand_deltas_keep_the_whole_text():
    text = "x" * 20_000
    with ScriptedModel([Say(text, deltas=20_000)]) as scripted:
        model = scripted.model
        with httpx.Client() as client:
            body = {"model": model.id, "messages": [], "stream": True}
            reply = client.post(f"{model.base_url}/chat/completions", json=body, timeout=60).text
    assert reply.count('"content":"x"') == 20_000


def test_delays_are_waited_out():
    steps = [Say("a b", first_byte_delay_s=0.04, delay_s=0.04), Call("f", first_byte_delay_s=0.04)]
    with ScriptedModel(steps) as scripted:
        before = time.monotonic()
        ask(scripted, stream=True)
        assert time.monotonic() - before >= 0.08
        before = time.monotonic()
        ask(scripted)
        assert time.monotonic() - before >= 0.04


def test_a_failure_may_ask_to_retry_later():
    with ScriptedModel([Fail(429, retry_after_s=1.5), "fine"]) as scripted:
        with pytest.raises(openai.RateLimitError, match="Rate limit reached") as caught:
            ask(scripted, stream=True)
        assert caught.value.response.headers["retry-after"] == "1.5"
        assert ask(scripted).choices[0].message.content == "fine"


@pytest.mark.parametrize(
    "step",
    [Fail(401, "Incorrect API key provided: {key}."), Fail(401, body={"detail": "{key}"}), Fail(401, body="no: {key}")],
)
def test_a_failure_may_echo_the_key(step):
    with ScriptedModel([step], api_key="sk-echo-me") as scripted:
        with pytest.raises(openai.AuthenticationError, match="sk-echo-me"):
            ask(scripted)


@pytest.mark.parametrize(("status", "error"), [(404, openai.NotFoundError), (500, openai.InternalServerError)])
def test_a_failure_has_its_status(status, error):
    with ScriptedModel([Fail(status)]) as scripted:
        with pytest.raises(error):
            ask(scripted)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("kind", ["json", "truncated"])
def test_bad_json_is_bad_json(kind, stream):
    import json

    with ScriptedModel([Malformed(kind)]) as scripted:
        with pytest.raises(json.JSONDecodeError):
            ask(scripted, stream=stream)


def test_a_page_in_place_of_an_answer_has_no_choices():
    with ScriptedModel([Malformed("html"), Malformed("choices"), Malformed("html"), Malformed("sse")]) as scripted:
        assert "Bad Gateway" in str(ask(scripted))
        assert ask(scripted).choices == []
        assert ask(scripted, stream=True) == []
        assert ask(scripted, stream=True) == []


def test_an_empty_reply_is_well_formed():
    with ScriptedModel([Malformed("empty"), Malformed("empty")]) as scripted:
        assert ask(scripted).choices[0].message.content == ""
        assert text_of(ask(scripted, stream=True)) == ""


def test_malformed_arguments_are_not_json():
    with ScriptedModel([Malformed("arguments", name="weather")]) as scripted:
        (call,) = ask(scripted).choices[0].message.tool_calls
    assert (call.function.name, call.function.arguments) == ("weather", '{"city": "Par')


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("after", [0, 3])
def test_a_drop_is_a_connection_error(stream, after):
    with ScriptedModel([Drop(after), "fine"]) as scripted:
        with pytest.raises((openai.APIConnectionError, httpx.RemoteProtocolError)):
            ask(scripted, stream=stream)
        assert ask(scripted).choices[0].message.content == "fine"
    assert scripted.requests[0].outcome == "cut"


def run_in_thread(function, *args, **options):
    result = []
    thread = threading.Thread(target=lambda: result.append(function(*args, **options)))
    thread.start()

    def join():
        thread.join(30)
        return result[0]

    return join


def test_a_hang_lasts_until_it_is_released():
    hang = Hang(then="late")
    with ScriptedModel([hang, Hang("some words", then=" and more")]) as scripted:
        join = run_in_thread(ask, scripted)
        assert hang.wait_reached()
        assert scripted.requests[0].outcome == ""
        hang.release()
        assert join().choices[0].message.content == "late"
        join = run_in_thread(ask, scripted, stream=True)
        scripted.wait_for_requests(2)
        scripted.release()
        assert text_of(join()) == "some words and more"


def test_a_client_that_gives_up_on_a_hang_is_seen():
    hang = Hang()
    with ScriptedModel([hang]) as scripted:
        with httpx.Client() as client, pytest.raises(httpx.ReadTimeout):
            client.post(f"{scripted.base_url}/chat/completions", json={"messages": []}, timeout=0.05)
        assert hang.wait_reached()
        assert scripted.requests[0].wait_finished()
    assert scripted.requests[0].outcome == "client_closed"


def test_waiting_for_requests_that_do_not_come_ends():
    with ScriptedModel() as scripted:
        with pytest.raises(TimeoutError, match="got 0 of 1 requests"):
            scripted.wait_for_requests(1, timeout_s=0.01)


def test_nothing_is_left_after_close():
    before = threading.active_count()
    with ScriptedModel([Hang()]) as scripted:
        errors = []

        def try_it():
            try:
                ask(scripted)
            except openai.APIConnectionError as exc:
                errors.append(exc)

        join = run_in_thread(try_it)
        scripted.wait_for_requests(1)
    join()
    assert len(errors) == 1
    assert threading.active_count() == before
