"""Units and codes that a number or a parameter may bear, and what converts into what."""

from __future__ import annotations

import re

# unit -> (dimension, factor to the dimension's base, spellings)
_UNITS: dict[str, tuple[str, float, str]] = {
    "percent": ("share", 0.01, "% percent pct per_cent percentage"),
    "millisecond": ("time", 0.001, "ms millisecond milliseconds millis"),
    "second": ("time", 1, "s sec secs second seconds"),
    "minute": ("time", 60, "min mins minute minutes"),
    "hour": ("time", 3600, "h hr hrs hour hours"),
    "day": ("time", 86400, "day days"),
    "week": ("time", 7 * 86400, "week weeks"),
    "month": ("time", 365.25 / 12 * 86400, "month months"),
    "year": ("time", 365.25 * 86400, "yr yrs year years"),
    "mm": ("length", 0.001, "mm millimeter millimeters millimetre millimetres"),
    "cm": ("length", 0.01, "cm centimeter centimeters centimetre centimetres"),
    "m": ("length", 1, "m meter meters metre metres"),
    "km": ("length", 1000, "km kilometer kilometers kilometre kilometres"),
    "inch": ("length", 0.0254, "inch inches"),
    "foot": ("length", 0.3048, "ft foot feet"),
    "yard": ("length", 0.9144, "yd yard yards"),
    "mile": ("length", 1609.344, "mi mile miles"),
    "mg": ("mass", 1e-6, "mg milligram milligrams"),
    "g": ("mass", 0.001, "g gram grams"),
    "kg": ("mass", 1, "kg kilo kilos kilogram kilograms"),
    "pound": ("mass", 0.45359237, "lb lbs pound pounds"),
    "ounce": ("mass", 0.028349523125, "oz ounce ounces"),
    "liter": ("volume", 1, "l liter liters litre litres"),
    "milliliter": ("volume", 0.001, "ml milliliter milliliters millilitre millilitres"),
    "cup": ("volume", 0.2365882365, "cup cups"),
    "tablespoon": ("volume", 0.01478676478, "tablespoon tablespoons tbsp"),
    "teaspoon": ("volume", 0.00492892159, "teaspoon teaspoons tsp"),
    "gallon": ("volume", 3.785411784, "gallon gallons"),
    "celsius": ("temperature", 1, "°c celsius centigrade"),
    "fahrenheit": ("temperature", 1, "°f fahrenheit"),
    "kelvin": ("temperature", 1, "kelvin"),
    "degree": ("degree", 1, "° degree degrees"),
    "MB": ("data", 1e6, "mb megabyte megabytes"),
    "GB": ("data", 1e9, "gb gigabyte gigabytes"),
    "kB": ("data", 1e3, "kb kilobyte kilobytes"),
}
_SPELLINGS = {spelling: unit for unit, (_, _, spellings) in _UNITS.items() for spelling in spellings.split()}
_CURRENCIES = {
    "USD": "$ dollar dollars bucks us_dollars us_dollar american_dollars united_states_dollar us$",
    "EUR": "€ euro euros",
    "GBP": "£ sterling pounds_sterling british_pounds british_pound",
    "JPY": "¥ yen japanese_yen",
    "CHF": "franc francs swiss_francs",
    "INR": "rupee rupees indian_rupees",
    "CNY": "yuan renminbi",
    "CAD": "canadian_dollars canadian_dollar",
    "AUD": "australian_dollars australian_dollar",
    "SEK": "kronor",
    "BRL": "reais",
    "KRW": "won",
    "MXN": "pesos",
    "PLN": "zloty",
    "CZK": "koruna",
    "TRY": "lira",
    "BTC": "bitcoin bitcoins",
}
CURRENCY_OF = {s.replace("_", " "): code for code, spellings in _CURRENCIES.items() for s in spellings.split()}
CURRENCY_CODES = frozenset(_CURRENCIES) | {"NOK", "DKK", "NZD", "SGD", "HKD", "ZAR", "HUF", "THB", "RUB", "ILS"}
LANGUAGE_CODES = {
    "english": "en",
    "german": "de",
    "french": "fr",
    "spanish": "es",
    "italian": "it",
    "portuguese": "pt",
    "dutch": "nl",
    "russian": "ru",
    "chinese": "zh",
    "japanese": "ja",
    "korean": "ko",
    "arabic": "ar",
    "hindi": "hi",
    "turkish": "tr",
    "polish": "pl",
    "swedish": "sv",
    "danish": "da",
    "norwegian": "no",
    "finnish": "fi",
    "greek": "el",
    "czech": "cs",
    "hungarian": "hu",
    "hebrew": "he",
    "ukrainian": "uk",
}
COUNTRY_CODES = {
    "germany": "DE",
    "france": "FR",
    "spain": "ES",
    "italy": "IT",
    "portugal": "PT",
    "austria": "AT",
    "poland": "PL",
    "switzerland": "CH",
    "netherlands": "NL",
    "belgium": "BE",
    "sweden": "SE",
    "norway": "NO",
    "denmark": "DK",
    "finland": "FI",
    "ireland": "IE",
    "united kingdom": "GB",
    "uk": "GB",
    "great britain": "GB",
    "england": "GB",
    "united states": "US",
    "usa": "US",
    "us": "US",
    "america": "US",
    "canada": "CA",
    "mexico": "MX",
    "brazil": "BR",
    "argentina": "AR",
    "china": "CN",
    "japan": "JP",
    "india": "IN",
    "australia": "AU",
    "new zealand": "NZ",
    "south africa": "ZA",
    "south korea": "KR",
    "turkey": "TR",
    "greece": "GR",
}

_AFTER = re.compile(r"(?P<gap>[\s-]?)(?P<word>°\s?[CF]\b|[%°€£$]|[^\W\d_]+)")


def unit_of(after: str, money: str) -> tuple[str, int]:
    """The unit that the text right after a number begins with, "" for none, and how far the number's text goes with it.

    Args:
        after: The text after the digits.
        money: The currency sign before them, "" for none.
    """
    if money.strip():
        return CURRENCY_OF[money.strip()], 0
    match = _AFTER.match(after)
    if not match:
        return "", 0
    pair = re.match(r"\s?([^\W\d_]+ [^\W\d_]+)", after)
    if pair and pair[1].lower() in CURRENCY_OF:
        return CURRENCY_OF[pair[1].lower()], pair.end()
    word = match["word"].replace(" ", "")
    lower = word.lower()
    if lower in CURRENCY_OF and lower != "won":
        return CURRENCY_OF[lower], match.end()
    if word in CURRENCY_CODES:
        return word, 0
    if len(lower) <= 2 and match["gap"] == "-":
        return "", 0
    unit = _SPELLINGS.get(lower, "")
    if len(word) == 1 and word.isupper() and (not match["gap"] or word == "K"):
        unit = {"C": "celsius", "F": "fahrenheit", "K": "kelvin"}.get(word, "")
    return unit, match.end() if unit else 0


def unit_named(word: str) -> str:
    """The unit a single word stands for, "" for none; one letter is none."""
    return _SPELLINGS.get(word.lower(), "") if len(word) > 1 or word == "%" else ""


def dimension(unit: str) -> str:
    """`time`, `length`, `mass`, `share`, `money` ...; "" for no unit."""
    if unit in CURRENCY_CODES:
        return "money"
    return _UNITS[unit][0] if unit in _UNITS else ""


def convert(value: float, unit: str, wanted: str) -> float | None:
    """The value in another unit of the same dimension, rounded to 10 digits; None where there is no plain factor."""
    if unit == wanted:
        return value
    if dimension(unit) != dimension(wanted) or dimension(unit) in ("temperature", "money", ""):
        return None
    result = value * _UNITS[unit][1] / _UNITS[wanted][1]
    if {unit, wanted} == {"month", "year"}:
        result = value * 12 if unit == "year" else value / 12
    rounded = float(f"{result:.10g}")
    return int(rounded) if rounded == int(rounded) else rounded
