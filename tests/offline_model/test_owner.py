"""Whose thing is asked for: `GDP of FR`, `France's GDP` give the owner alone as the value."""

import pytest

from tests.offline_model.cases import tool_of
from tests.offline_model.test_rate import asked

GDP = 'gdp(country: str, year: int) "Gross domestic product"'
CAPITAL = 'capital(country: str) "Capital of a country."'
QUOTE = 'quote(company: str) "Stock quote of a company"'
BANK = 'bank(name: str) "Details of a bank"'


@pytest.mark.parametrize(
    ("prompt", "country"),
    [
        ("What was the GDP of FR in 2021?", "FR"),
        ("GDP of FR in 2021", "FR"),
        ("Tell me the GDP of FR in 2021", "FR"),
        ("In 2021, what was the GDP of FR?", "FR"),
        ("What was the GDP of FR, in 2021?", "FR"),
        ("What was the GDP of 'FR' in 2021?", "FR"),
        ("What was the GDP of FR's in 2021?", "FR"),
        ("What was the GDP for FR in 2021?", "FR"),
        ("What was the GDP in FR in 2021?", "FR"),
        ("What was the GDP from FR in 2021?", "FR"),
        ("What was the GDP of the US in 2021?", "US"),
        ("What was the GDP of New Zealand in 2021?", "New Zealand"),
        ("What was the GDP of the United States of America in 2021?", "United States of America"),
        ("What was France's GDP in 2021?", "France"),
        ("What was FR’s GDP in 2021?", "FR"),
        ("What was FR GDP in 2021?", "FR"),
    ],
)
def test_the_owner_alone_is_the_value(prompt, country):
    assert asked([tool_of(GDP)], prompt) == ("gdp", {"country": country, "year": 2021})


@pytest.mark.parametrize(
    ("tool", "prompt", "values"),
    [
        (CAPITAL, "Which is the Capital of New Zealand, please?", {"country": "New Zealand"}),
        (CAPITAL, "What is France's capital?", {"country": "France"}),
        (QUOTE, "What is the quote of Bank of America?", {"company": "Bank of America"}),
        (BANK, "Details of the Bank of America", {"name": "Bank of America"}),
    ],
)
def test_a_name_with_an_of_stays_whole_where_it_is_the_value(tool, prompt, values):
    assert asked([tool_of(tool)], prompt)[1] == values


def test_two_years_are_two_calls_for_one_owner():
    from hermes_nb.offline_model.served import reply

    _, calls = reply([{"role": "user", "content": "What was the GDP of FR between 2020 and 2021?"}], [tool_of(GDP)])
    assert [c.arguments for c in calls] == ['{"country": "FR", "year": 2020}', '{"country": "FR", "year": 2021}']
