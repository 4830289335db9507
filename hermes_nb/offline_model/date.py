"""Dates and times as people write them, brought into ISO form."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass

MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_MONTH = r"(?P<month>" + "|".join(f"{m}\\.?|{m[:3]}\\.?" for m in MONTHS) + r"|sept\.?)"
_YEAR = r"(?P<year>(?:1[5-9]|2[01])\d\d)"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_TIME_TEXT = r"(?:[01]?\d|2[0-3])(?::[0-5]\d){1,2}\s*(?:[ap]\.?m\.?)?|(?:1[0-2]|0?\d)\s*[ap]\.?m\.?(?!\w)"
_PATTERNS = [
    re.compile(
        r"\b(?P<iso>(?:1[5-9]|2[01])\d\d-[01]\d-[0-3]\d)(?P<clock>[T ][0-2]\d:[0-5]\d(?::[0-5]\d)?(?:Z|[+-]\d\d:\d\d)?)?\b"
    ),
    re.compile(rf"\b{_YEAR}\s+{_MONTH}\s+{_DAY}\b", re.I),
    re.compile(rf"\b{_MONTH}(?:\s+|(?<=\.)){_DAY}(?!\d)(?:(?:,\s*|\s+){_YEAR})?\b", re.I),
    re.compile(rf"\b{_DAY}\.?\s+(?:of\s+)?{_MONTH}(?:(?:,\s*|\s+){_YEAR})?\b", re.I),
    re.compile(r"\b(?P<year>(?:1[5-9]|2[01])\d\d)[/.](?P<month>[01]?\d)[/.](?P<day>[0-3]?\d)\b"),
    re.compile(r"\b(?P<first>[0-3]?\d)(?P<sign>[/.-])(?P<second>[0-3]?\d)(?P=sign)(?P<year>(?:1[5-9]|2[01])\d\d)\b"),
    re.compile(r"\b(?P<word>today|tonight|tomorrow|yesterday|the day after tomorrow)\b", re.I),
    re.compile(rf"\b(?P<which>next|last|this|coming|on)\s+(?P<weekday>{'|'.join(_WEEKDAYS)})\b", re.I),
    re.compile(r"\bin\s+(?P<ahead>\d+)\s+(?P<ahead_unit>day|week)s?(?:\s+time)?\b(?=\s*[.?!,]|\s*$)", re.I),
    re.compile(r"\b(?P<back>\d+)\s+(?P<back_unit>day|week)s?\s+ago\b", re.I),
]
_YEAR_MONTH = re.compile(rf"\b{_YEAR}-(?P<number>0[1-9]|1[0-2])\b(?!-)", re.I)
_TIME = re.compile(rf"\b(?:{_TIME_TEXT})|\b(?:noon|midnight|midday)\b|\b(?P<oclock>\d{{1,2}})\s*o'?clock\b", re.I)


@dataclass(frozen=True, slots=True)
class DateMention:
    """A date (`kind` date, value `2025-03-14`), a time (`14:30`), both (datetime) or a month (`2025-03`)."""

    kind: str
    value: str
    start: int
    end: int


def dates(text: str, today: str) -> list[DateMention]:
    """Dates and times in a text; a day without a year is taken in the year of `today`."""
    now = dt.date.fromisoformat(today)
    found: list[DateMention] = []
    for pattern in _PATTERNS:
        for match in pattern.finditer(text):
            value = _value(match.groupdict(), now)
            if value and not any(f.start < match.end() and match.start() < f.end for f in found):
                start = match.start("weekday") if match.groupdict().get("which") == "on" else match.start()
                found.append(DateMention("datetime" if "T" in value else "date", value, start, match.end()))
    for match in _YEAR_MONTH.finditer(text):
        if not any(f.start < match.end() and match.start() < f.end for f in found):
            found.append(DateMention("month", match.group(), match.start(), match.end()))
    for match in _TIME.finditer(text):
        clock = _clock(match.group(), match["oclock"])
        if clock and not any(f.start < match.end() and match.start() < f.end for f in found):
            found.append(DateMention("time", clock, match.start(), match.end()))
    return found


def _value(parts: dict[str, str | None], now: dt.date) -> str | None:
    iso, clock = parts.get("iso"), parts.get("clock")
    try:
        if iso:
            dt.date.fromisoformat(iso)
            return f"{iso}T{clock[1:]}" if clock else iso
        if word := parts.get("word"):
            days = {"today": 0, "tonight": 0, "tomorrow": 1, "yesterday": -1}.get(word.lower(), 2)
            return (now + dt.timedelta(days)).isoformat()
        if weekday := parts.get("weekday"):
            ahead = (_WEEKDAYS.index(weekday.lower()) - now.weekday() - 1) % 7 + 1
            back = (parts.get("which") or "").lower() == "last"
            return (now + dt.timedelta(ahead - 7 if back and ahead else ahead)).isoformat()
        if ahead_text := parts.get("ahead"):
            return (now + dt.timedelta(int(ahead_text) * _days(parts["ahead_unit"]))).isoformat()
        if back_text := parts.get("back"):
            return (now - dt.timedelta(int(back_text) * _days(parts["back_unit"]))).isoformat()
        if first := parts.get("first"):
            a, b, year = int(first), int(parts["second"] or 0), int(parts["year"] or 0)
            day, month = (a, b) if a > 12 or parts.get("sign") == "." else (b, a)
            return dt.date(year, month, day).isoformat()
        month_text, day_text = parts.get("month") or "", parts.get("day") or ""
        month = int(month_text) if month_text.isdigit() else _month(month_text)
        return dt.date(int(parts.get("year") or now.year), month, int(day_text)).isoformat()
    except ValueError:
        return None


def _days(unit: str | None) -> int:
    return 7 if (unit or "").lower() == "week" else 1


def _month(word: str) -> int:
    return next(i for i, m in enumerate(MONTHS, 1) if m.startswith(word.lower().rstrip(".")[:3]))


def _clock(text: str, oclock: str | None) -> str | None:
    lower = text.lower().replace(".", "").replace(" ", "")
    if lower in ("noon", "midday"):
        return "12:00"
    if lower == "midnight":
        return "00:00"
    if oclock:
        return f"{int(oclock):02d}:00" if int(oclock) < 24 else None
    is_pm, is_am = lower.endswith("pm"), lower.endswith("am")
    digits = lower.removesuffix("pm").removesuffix("am").split(":")
    hour = int(digits[0])
    if is_pm and hour < 12:
        hour += 12
    if is_am and hour == 12:
        hour = 0
    return ":".join([f"{hour:02d}", *(digits[1:] or ["00"])])
