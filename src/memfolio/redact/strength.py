"""Whether a text could be a secret: neither a word nor code, nor what stands in for a secret in examples. Pure."""

from __future__ import annotations

import re
from collections import Counter
from math import log2

# All of these are compiled by `re` at their first use: few texts ever need them.
_EXAMPLE = (
    r"(?i)your|example|place.?holder|change.?me|replace.?me|dummy|insert|redacted|xxxx|\*\*\*|\.\.\.|…|01234567|12345678"
    r"|abcdefg"
)
_STAND_IN = (
    r"(?i)(?:my|the|an?|new|old|db|app|admin|root|username|user|guest|test|fake|mock|some|valid|invalid|secure|strong"
    r"|hashed|plain|pass(?:w(?:or)?d|phrase)?|pwd|secret|token|api|access|private|refresh|jwt|auth|key|string|value|here"
    r"|postgres|mysql|redis|mongo|rabbitmq|localhost|none|null|true|false|undefined|[\d_.-])++"
)
"""Words of which only a stand-in is made, such as `my_secret_key_1`."""
_CODE = (
    r"[{(\[\\]|\$(?:[{(]|(?:[A-Z0-9_]+|[a-z0-9_]+)$)|%(?:\(|[A-Z_]+%|[a-z]$)|&\w+$|(?:\.{0,2}|~)/[a-z][\w.-]{0,20}(?:/|$)"
    r"|[\w.+-]*://|(?i:[a-z_]\w*(?:(?:\.|::|->)[a-z_]\w*)*[(\[])|(?i:(?=.{1,32}$)[a-z_]+\d*[a-z_]*(?:(?:\.|::|->)[a-z_]+\d*[a-z_]*)+$)"
)
"""What a value begins with where it is computed or looked up: a variable, a template, a call, a path."""
_CLASSES = ("[A-Z]", "[a-z]", "[0-9]", r"[^\w\s.:/,!?*'’|-]|[!?*](?=\w)")
_SWITCH = "(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])"


def is_real(token: str) -> bool:
    """Whether a token of a known form is more than an example of that form."""
    return entropy(token) >= 2.8 and not re.search(_EXAMPLE, token)


def is_random(value: str) -> bool:
    """Whether letters and digits are mixed in it as nobody would write them."""
    return len(value) >= 10 and is_mixed(value) and not _stands_in(value)


def is_key(value: str) -> bool:
    """Whether it is so long that it tells a secret key from the other keys there are."""
    return len(value) >= 24 and is_random(value)


def is_mixed(token: str) -> bool:
    """Whether a token of a form that other texts have too changes between letters and digits."""
    return is_real(token) and len(re.findall(_SWITCH, token)) >= 2


def is_password(value: str) -> bool:
    """Whether somebody may have chosen it: letters with digits, or three kinds of characters."""
    upper, lower, digit, sign = (re.search(each, value) is not None for each in _CLASSES)
    is_mixed = (digit and (upper or lower)) or upper + lower + digit + sign >= 3
    return is_mixed and entropy(value) >= 2.2 and not _stands_in(value)


def is_login(value: str) -> bool:
    """Whether it is a password, given that it stands where one must be."""
    return len(value) >= 3 and not _stands_in(value)


def entropy(value: str) -> float:
    """Bits a character, by how often each occurs."""
    size = len(value)
    return -sum(count / size * log2(count / size) for count in Counter(value).values())


def _stands_in(value: str) -> bool:
    return bool(re.match(_CODE, value) or re.search(_EXAMPLE, value) or re.fullmatch(_STAND_IN, value))
