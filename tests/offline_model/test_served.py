"""The offline model in conversation: what it calls, asks, answers and says of itself."""

import json

import openai
import pytest

from hermes_nb.offline_model.served import MODEL, OfflineEndpoint, reply
from tests.offline_model.cases import HELD_OUT, TUNED, tool_of

NOTE = "no understanding of language"


def box(name):
    return [tool_of(t) for t in (TUNED | HELD_OUT)[name][0]]


class Conversation:
    """Asks the model, runs its calls with `run(name, arguments)`, keeps the messages."""

    def __init__(self, tools, run=lambda name, arguments: 42):
        self.tools, self.run = tools, run
        self.messages = [{"role": "system", "content": "Conversation started: Wednesday, January 15, 2025"}]

    def ask(self, prompt):
        """(calls made, answer)."""
        self.messages.append({"role": "user", "content": prompt})
        made = []
        for _ in range(10):
            text, calls = reply(self.messages, self.tools)
            if not calls:
                self.messages.append({"role": "assistant", "content": text})
                return made, text
            self.messages.append(
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [
                        {"id": c.call_id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
                        for c in calls
                    ],
                }
            )
            for call in calls:
                arguments = json.loads(call.arguments)
                made.append((call.name, arguments))
                result = self.run(call.name, arguments)
                content = result if isinstance(result, str) else json.dumps(result)
                self.messages.append({"role": "tool", "tool_call_id": call.call_id, "content": content})
        raise AssertionError(f"It never stops calling: {made}")


def test_it_says_what_it_is_and_lists_the_tools_when_none_fits():
    made, text = Conversation(box("everyday")).ask("Who wrote War and Peace?")
    assert made == []
    assert "offline model" in text
    assert "None of the tools fits" in text
    assert "`get_weather(city, unit?)`: Current weather in a city." in text


@pytest.mark.parametrize("prompt", ["Hello!", "Who are you?", "thanks"])
def test_small_talk_calls_nothing(prompt):
    made, text = Conversation(box("everyday")).ask(prompt)
    assert made == []
    assert "Tools I can call" in text


def test_without_tools_it_says_so():
    made, text = Conversation([]).ask("What's the weather in Paris?")
    assert made == []
    assert "offline model without tools" in text


def test_a_missing_argument_is_asked_for_and_the_reply_is_used():
    talk = Conversation(box("everyday"))
    made, text = talk.ask("What's the weather like?")
    assert made == []
    assert "I need `city`" in text
    assert talk.ask("Madrid")[0] == [("get_weather", {"city": "Madrid"})]


def test_a_follow_up_reuses_the_last_tool_with_the_new_value():
    talk = Conversation(box("everyday"))
    assert talk.ask("What's the weather in Paris?")[0] == [("get_weather", {"city": "Paris"})]
    assert talk.ask("and for Berlin?")[0] == [("get_weather", {"city": "Berlin"})]
    assert talk.ask("In fahrenheit?")[0] == [("get_weather", {"city": "Berlin", "unit": "fahrenheit"})]
    assert talk.ask("Again")[0] == [("get_weather", {"city": "Berlin", "unit": "fahrenheit"})]


def test_several_values_for_one_argument_are_several_calls():
    made, text = Conversation(box("everyday")).ask("What's the weather in Paris, Rome and Oslo?")
    assert made == [("get_weather", {"city": c}) for c in ("Paris", "Rome", "Oslo")]
    assert text.count("get_weather(") == 3


def test_then_makes_one_call_after_another():
    made, _ = Conversation(box("everyday")).ask("Get the weather in Lima, then convert 100 USD to EUR.")
    assert made == [
        ("get_weather", {"city": "Lima"}),
        ("convert_currency", {"amount": 100, "source": "USD", "target": "EUR"}),
    ]


def test_and_before_another_tools_verb_makes_two_calls():
    made, _ = Conversation(box("statistics")).ask("Compute the mean of 3, 4 and 5 and show a histogram of age")
    assert made == [("mean", {"values": [3, 4, 5]}), ("histogram", {"column": "age"})]


def test_a_result_feeds_the_next_call():
    tools = [tool_of('total_sales(year: int) "Sum of all sales in USD."'), *box("everyday")]
    made, _ = Conversation(tools, lambda name, a: 1250.5 if name == "total_sales" else 1).ask(
        "What are the total sales of 2023? Then convert the result from USD to EUR."
    )
    assert made == [
        ("total_sales", {"year": 2023}),
        ("convert_currency", {"amount": 1250.5, "source": "USD", "target": "EUR"}),
    ]


@pytest.mark.parametrize(
    ("name", "prompt", "results", "wanted"),
    [
        (
            "maths",
            "Multiply 6 by 7 and divide the result by 2",
            [42, 21],
            [("multiply", {"a": 6, "b": 7}), ("divide", {"numerator": 42, "denominator": 2})],
        ),
        (
            "hr",
            "Find the employee Grace Hopper and then show her vacation balance",
            [{"name": "Grace Hopper", "employee_id": 7}, 12],
            [("find_employee", {"name": "Grace Hopper"}), ("vacation_balance", {"employee_id": 7})],
        ),
        (
            "files",
            "List the files in data/ and then load the first one",
            [["data/a.csv", "data/b.csv"], "ok"],
            [("list_files", {"directory": "data/"}), ("read_csv", {"path": "data/a.csv"})],
        ),
        (
            "stocks",
            "Compare Apple and Google, then Ford and Toyota",
            [1, 2],
            [
                ("compare_companies", {"company_a": "Apple", "company_b": "Google"}),
                ("compare_companies", {"company_a": "Ford", "company_b": "Toyota"}),
            ],
        ),
        (
            "office",
            "1. Search the documents for 'budget'\n2. Count the words of 'a b'",
            ["ok", 2],
            [("search_documents", {"query": "budget"}), ("word_count", {"text": "a b"})],
        ),
        (
            "dates",
            "How many days are between 2024-01-01 and 2024-03-01, and what weekday is 2024-03-01?",
            [60, "Friday"],
            [("days_between", {"start": "2024-01-01", "end": "2024-03-01"}), ("weekday", {"day": "2024-03-01"})],
        ),
        (
            "frame",
            "Drop missing values, then group by city and take the mean of price",
            ["ok", "ok"],
            [("drop_missing", {}), ("group_by", {"column": "city", "aggregate": "mean", "value_column": "price"})],
        ),
    ],
)
def test_several_requests_are_made_one_after_another(name, prompt, results, wanted):
    left = iter(results)
    assert Conversation(box(name), lambda *_: next(left)).ask(prompt)[0] == wanted


def test_calls_written_out_run_in_order_as_written():
    made, _ = Conversation(box("sales")).ask("top_customers(n=2) and then find_order(7)")
    assert made == [("top_customers", {"n": 2}), ("find_order", {"order_id": 7})]


def test_a_row_of_dicts_is_answered_as_a_table():
    rows = [{"customer": "Acme | Sons", "revenue": 1234567.5}, {"customer": "<b>", "revenue": 3}]
    _, text = Conversation(box("sales"), lambda *_: rows).ask("Which customers matter most?")
    assert "| customer | revenue |\n| --- | ---: |\n| Acme \\| Sons | 1,234,567.5 |\n| &lt;b> | 3 |" in text
    assert NOTE in text


@pytest.mark.parametrize(
    ("result", "shown"),
    [
        (42, "gives **42**"),
        (0.1234, "gives **0.1234**"),
        (True, "gives **yes**"),
        ("done", "says: done"),
        ({"city": "Paris", "degrees": 21}, "- **city**: Paris\n- **degrees**: 21"),
        (["a", "b"], "returned 2 items:\n\n- a\n- b"),
        ([], "returned an empty list"),
        (None, "returned nothing"),
        (
            {"type": "DataFrame", "shape": [1, 2], "columns": {"a": "int64", "b": "str"}, "rows": [[1, "x"]]},
            "| 1 | x |",
        ),
        ({"error": "ValueError: no such city"}, "failed: ValueError: no such city"),
        ("[TOOL_ERROR] Tool execution failed", "failed: [TOOL_ERROR] Tool execution failed"),
    ],
)
def test_results_are_told_in_markdown(result, shown):
    _, text = Conversation(box("everyday"), lambda *_: result).ask("What's the weather in Paris?")
    assert '`get_weather(city="Paris")`' in text
    assert shown in text


def test_a_long_table_is_cut_and_says_so():
    _, text = Conversation(box("sales"), lambda *_: [{"n": i} for i in range(100)]).ask("Who are the best customers?")
    assert "… and 70 more." in text


def test_every_call_of_a_conversation_has_an_id_of_its_own():
    talk = Conversation(box("everyday"))
    for prompt in ("What's the weather in Paris and Rome?", "and for Berlin?", "Throw a die", "Again", "In Oslo?"):
        talk.ask(prompt)
    ids = [c["id"] for m in talk.messages for c in m.get("tool_calls", ())]
    assert len(ids) == len(set(ids)) > 4


def test_a_call_without_a_result_is_not_made_again():
    call = {"id": "c", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'}}
    text, calls = reply(
        [{"role": "user", "content": "What's the weather in Paris?"}, {"role": "assistant", "tool_calls": [call]}],
        box("everyday"),
    )
    assert calls == []
    assert "no result came back" in text


def test_an_error_ends_a_chain():
    made, text = Conversation(box("everyday"), lambda *_: {"error": "KeyError: 'x'"}).ask(
        "Get the weather in Lima, then convert 100 USD to EUR."
    )
    assert [name for name, _ in made] == ["get_weather"]
    assert "failed: KeyError: 'x'" in text


def test_it_does_not_claim_to_explain():
    _, text = Conversation(box("sales"), lambda *_: [{"n": 1}]).ask("Which customers matter most, and why?")
    assert "I can't say" in text


def test_steering_in_a_tool_result_is_followed():
    steer = "[OUT-OF-BAND USER MESSAGE — a direct message]\nThen roll two dice.\n[/OUT-OF-BAND USER MESSAGE]"
    made, text = Conversation(box("everyday"), lambda *_: f"18\n\n{steer}").ask("What's the weather in Paris?")
    assert made[:2] == [("get_weather", {"city": "Paris"}), ("roll_dice", {"count": 2})]
    assert "OUT-OF-BAND" not in text


def test_descriptions_of_variables_above_the_question_are_no_question():
    prompt = "df: pandas.DataFrame, 2 rows x 2 columns\ncolumns: city str, weather str\n\nRoll two dice"
    assert Conversation(box("everyday")).ask(prompt)[0] == [("roll_dice", {"count": 2})]


def test_relative_dates_count_from_the_day_of_the_conversation():
    made, _ = Conversation(box("everyday")).ask("Remind me to buy milk tomorrow")
    assert made == [("add_reminder", {"text": "buy milk", "due": "2025-01-16"})]


@pytest.mark.parametrize(
    "messages",
    [[], [{"role": "user", "content": ""}], [{"role": "user"}], [{"role": "tool", "content": "x"}], [{"content": 3}]],
)
def test_odd_conversations_are_answered(messages):
    text, calls = reply(messages, box("everyday"))
    assert calls == []
    assert text


@pytest.mark.parametrize(
    "parameters",
    [
        None,
        {},
        {"type": "object"},
        {"properties": {"x": True}},
        {"properties": {"x": {"anyOf": []}}, "required": ["x"]},
        {"properties": {"x": {"$ref": "#/$defs/X"}}, "$defs": {"X": {"$ref": "#/$defs/X"}}},
        {"properties": {"x": {"$ref": "elsewhere"}, "y": {"type": ["string", "null"]}, "z": {"const": 3}}},
    ],
)
def test_odd_schemas_are_survived(parameters):
    tools = [{"name": "weather", "description": None, "parameters": parameters}, {"description": "nameless"}]
    text, calls = reply([{"role": "user", "content": "weather in 'Paris' on 3"}], tools)
    assert text or calls


def test_the_same_question_gets_the_same_reply():
    first, second = (Conversation(box("travel")).ask("What time is it in Tokyo?") for _ in range(2))
    assert first == second


@pytest.mark.parametrize("stream", [True, False])
def test_the_endpoint_serves_it_with_usage(stream):
    tools = [{"type": "function", "function": t} for t in box("everyday")]
    with OfflineEndpoint(word_delay_s=0) as endpoint:
        with openai.OpenAI(base_url=endpoint.base_url, api_key="none", max_retries=0, timeout=20) as client:
            options = {"stream": True, "stream_options": {"include_usage": True}} if stream else {}
            got = client.chat.completions.create(
                model=MODEL, messages=[{"role": "user", "content": "Sing a song"}], tools=tools, **options
            )
            if stream:
                chunks = list(got)
                words = [c.choices[0].delta.content for c in chunks if c.choices and c.choices[0].delta.content]
                assert len(words) > 20
                text, usage = "".join(words), chunks[-1].usage
            else:
                text, usage = got.choices[0].message.content, got.usage
    assert "None of the tools fits" in text
    assert usage.completion_tokens == -(-len(text) // 4)
    assert usage.prompt_tokens > 100
