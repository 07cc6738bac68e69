"""What personal data looks like; each kind is taken out only where the configuration names it. Pure."""

from __future__ import annotations

import re

from memfolio.redact.rules import Rule

_DATE = r"(?:19|20)\d\d[-./ ][01]?\d[-./ ][0-3]?\d|[0-3]?\d[-./ ][01]?\d[-./ ](?:19|20)\d\d"
_AREA = r"[+(0-9](?<![\w.+(-][+(0-9])(?:(?<=\+)[0-9]{1,3}|(?<=\()[0-9]{1,5}\)|[0-9]{1,5})"
_NATIONAL = r"[+(0]|\d{3}[ .-]\d{3}[ .-]\d{4}$"


def _digits(value: str) -> str:
    return "".join(filter(str.isdigit, value))


def _is_phone(value: str) -> bool:
    return bool(7 <= len(_digits(value)) <= 15 and re.match(_NATIONAL, value) and not re.match(_DATE, value))


def _is_card(value: str) -> bool:
    """Whether the last digit is right by Luhn's rule."""
    pairs = [int(digit) * (1 + at % 2) for at, digit in enumerate(reversed(_digits(value)))]
    return sum(each - 9 * (each > 9) for each in pairs) % 10 == 0 and len(set(_digits(value))) > 1


def _is_iban(value: str) -> bool:
    compact = value.replace(" ", "")
    return int("".join(str(int(each, 36)) for each in compact[4:] + compact[:4])) % 97 == 1


def _is_address(value: str) -> bool:
    from ipaddress import ip_address

    try:
        return len(value) > 3 and bool(ip_address(value))
    except ValueError:
        return False


RULES: tuple[Rule, ...] = (
    Rule("email", ("@",), r"(?<![\w.%+-])[\w.%+-]{1,64}+@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![\w-])", bool),
    Rule("iban", ("",), r"[A-Z]{2}(?<![A-Za-z0-9]..)\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?!\w)", _is_iban),
    Rule("card", ("",), r"[0-9](?<![\w.-][0-9])(?:[ -]?[0-9]){12,18}(?![\w-])", _is_card),
    Rule("phone", ("",), rf"{_AREA}(?:[ .\-/]{{0,2}}+\(?+[0-9]{{1,13}}+\)?+){{1,6}}+(?![\w-])", _is_phone),
    Rule("ip", (".",), r"[0-9](?<![\w.][0-9])[0-9]{0,2}(?:\.[0-9]{1,3}){3}(?![\w]|\.[0-9])", _is_address),
    Rule("ip", (":",), r"[0-9A-Fa-f:](?<![\w:.][0-9A-Fa-f:])[0-9A-Fa-f:]{2,38}(?![\w:])", _is_address),
)
