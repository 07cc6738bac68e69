"""Patterns of secrets and personal data, and tests of whether a text could be a secret."""

from __future__ import annotations

import re
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import log2
from typing import NamedTuple

from memfolio.text import packaged_table

# Whether a text could be a secret: neither a word nor code, nor what stands in for a secret in examples. Pure.

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
"""Words that make up placeholders such as `my_secret_key_1`."""
_CODE = (
    r"[{(\[\\]|\$(?:[{(]|(?:[A-Z0-9_]+|[a-z0-9_]+)$)|%(?:\(|[A-Z_]+%|[a-z]$)|&\w+$|(?:\.{0,2}|~)/[a-z][\w.-]{0,20}(?:/|$)"
    r"|[\w.+-]*://|(?i:[a-z_]\w*(?:(?:\.|::|->)[a-z_]\w*)*[(\[])|(?i:(?=.{1,32}$)[a-z_]+\d*[a-z_]*(?:(?:\.|::|->)[a-z_]+\d*[a-z_]*)+$)"
)
"""The beginning of a value that is computed or looked up: a variable, a template, a call, a path."""
_CLASSES = ("[A-Z]", "[a-z]", "[0-9]", r"[^\w\s.:/,!?*'’|-]|[!?*](?=\w)")
_SWITCH = "(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])"


def is_real(token: str) -> bool:
    """Whether a token of a known form is more than an example of that form."""
    return entropy(token) >= 2.8 and not re.search(_EXAMPLE, token)


def is_random(value: str) -> bool:
    """Whether letters and digits are mixed in it as nobody would write them."""
    return len(value) >= 10 and is_mixed(value) and not _stands_in(value)


def is_key(value: str) -> bool:
    """Whether it is long and random enough to be a secret key."""
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
    """Whether it is a password, given that it is at the place of one."""
    return len(value) >= 3 and not _stands_in(value)


def entropy(value: str) -> float:
    """Bits a character, by how often each occurs."""
    size = len(value)
    return -sum(count / size * log2(count / size) for count in Counter(value).values())


def _stands_in(value: str) -> bool:
    return bool(re.match(_CODE, value) or re.search(_EXAMPLE, value) or re.fullmatch(_STAND_IN, value))


# What secrets look like: one table of rules. Pure.
#
# A rule costs a look for its literal; only a text that has it is searched with the pattern. Patterns begin with what
# is rare and look back from there, and have nothing to try twice, so that no text makes them slow.

Judge = Callable[[str], bool]
_WORDS = packaged_table("redact/data/secrets.toml")


class SecretRule(NamedTuple):
    """One kind of secret: a text that has one of the literals, in any case, is searched for the pattern.

    The secret is the pattern's first group, or all of it, if `accepts` says so.
    """

    kind: str
    literals: tuple[str, ...]
    source: str
    accepts: Judge = is_real


def _prefixed(kind: str, prefixes: str, body: str, accepts: str = "real") -> Iterator[SecretRule]:
    """A rule for each prefix of a token that stands for itself."""
    for prefix in prefixes.split():
        start = re.escape(prefix)
        yield SecretRule(kind, (prefix,), rf"{start}(?<![A-Za-z0-9]{start})(?a:{body})", _JUDGES[accepts])


def _is_header(value: str) -> bool:
    """Whether base64 holds `user:password`."""
    try:
        decoded = b64decode(value + "=" * (-len(value) % 4), validate=True).decode()
    except ValueError:
        return False
    return ":" in decoded and decoded.isprintable()


def _has_body(block: str) -> bool:
    """Whether there is more between two key markers than words."""
    return re.search("[A-Za-z0-9+/]{20}", block) is not None


_WORD = r"[\w-]"
_JUDGES: Mapping[str, Judge] = {"real": is_real, "random": is_random, "mixed": is_mixed}
_TOKENS: tuple[SecretRule, ...] = (
    *(rule for row in _WORDS["tokens"] for rule in _prefixed(**row)),
    SecretRule("azure-client-secret", ("Q~",), r"[0-9]Q~(?<=(?<![\w~.-])[\w~.-]{3}[0-9]Q~)[\w~.-]{31,34}(?![\w~-])"),
    SecretRule("telegram-token", (":",), r":(?<=[0-9]{8}:)(?<![0-9]{11}:)[\w-]{35}(?![\w-])"),
    SecretRule("discord-token", (".",), rf"[MNO](?<!\w[MNO]){_WORD}{{23,27}}\.{_WORD}{{6}}\.{_WORD}{{27,}}", is_mixed),
    SecretRule("discord-webhook", ("/api/webhooks/",), rf"/api/webhooks/[0-9]{{16,20}}/({_WORD}{{50,}})"),
)

_BLANK = r"(?:\s|\\[nr])"
_LINE = r"(?:[A-Za-z0-9+/]{16,}+={0,2}+|[A-Za-z0-9+/]{1,15}={1,2})"
_BASE64 = rf"{_LINE}(?:{_BLANK}++{_LINE})*+"
_LAST = rf"(?:{_BLANK}++[\w+/=]{{1,15}})?+{_BLANK}*+"
_KEY = r"[A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
_AROUND: tuple[SecretRule, ...] = (
    SecretRule("private-key", ("-----BEGIN ",), rf"-----BEGIN {_KEY}(?:[^-]|-(?!----))*+-----END {_KEY}", _has_body),
    SecretRule(
        "private-key", ("-----BEGIN ",), rf"-----BEGIN {_KEY}{_BLANK}*+(?:[\w-]+: [^\n]*+\s++)*+{_BASE64}", bool
    ),
    SecretRule("private-key", ("-----END ",), rf"({_BASE64}{_LAST}-----END {_KEY})|{_BASE64}", bool),
    SecretRule("token", ("bearer ",), r"(?i:bearer)[ ]+([\w.~+/-]{16,}=*)", is_random),
    SecretRule("azure-key", ("Key=",), r"Key=(?<=Account....|dAccess....)([A-Za-z0-9+/]{40,}={0,2})"),
    SecretRule("signature", ("sig=", "signature="), r"[?&](?i:sig|[\w-]{0,10}signature)=([\w%+/=-]{40,})"),
    SecretRule("secret", ("sessid=", "sessionid=", "appid="), r"(?i:sess(?:ion)?id|appid)=([\w%.-]{24,})", is_key),
    SecretRule("token", ("://",), r"://([^\s:@/\"'<>?#]{20,200})@(?=[\w.\[-])", is_random),
)


_PASSWORD = (
    "pass(?:wor[dt]|wd|phrase|code|(?<![mrsy]pass)(?![a-z])|e(?<=mot de passe))|pw(?:d|(?![a-z]))"
    "|kennwort|contraseña|парол[ья]|密码|パスワード"
)
_PASSWORDS = "pass pw kennwort contraseña парол 密码 パスワード"
_QUALIFIED = "|".join(f"(?<={word}{link}key)" for word in _WORDS["qualifiers"].split() for link in ("", "[ _-]"))
_SECRET = f"secret|token(?!s|i[zs])|credential|key(?:{_QUALIFIED})"
_ANY_KEY = "key(?![a-z])" + "".join(f"(?<!{word}.key)" for word in _WORDS["other_keys"].split())
_SUFFIX = r"[\w-]{0,30}+" + "".join(f"(?<!{word})" for word in _WORDS["beside"].split())
"""What a name may end in, except words that only accompany a secret, as in `token_url`."""
_OF = r"(?:[ \t]+(?:for|to|of|on|at|in)[ \t][^\n.:=\"']{1,40}?)?"
_LINK = (
    r"(?:(?::=|=>|[:=：→|])[*_]{0,2}|\b(?:is|are|was|ist|lautet|est|es|to)\b:?|[\s{]{1,20}(?:value|default)[ ]?[:=])"
)
_IS = rf"(?:(?: \[\w*\])?[\\\"'`*\]]{{0,6}}[ \t]*{_LINK}|[\"']?[ ]?[,(](?=[ ]?[\"'])|>)[ \t]*"
_ODD = r"(?=\S*[0-9])(?=\S*(?:[@#$%^&+=~]|[!?*]\w))"
"""Text that can only be a password, even after a mere blank."""
_VALUE = (
    r"[\\\"'`*]{0,4}((?<=\")[^\s\"]{5,}[^\s\"\\](?=\\?\")|(?<=')[^\s']{5,}[^\s'\\](?=\\?')"
    r"|[^\s\"'`<>,;]{5,}[^\s\"'`<>,;.:?)\]}*\\])"
)


def _named(kind: str, names: str, links: str, literals: str, accepts: Judge) -> tuple[SecretRule, ...]:
    """Rules for what stands behind its name: `DB_PASSWORD=…`, `?token=…`, `--secret …`, `the password of it is …`."""
    words = tuple(literals.split())
    sources = (
        rf"[?&](?i:[\w-]{{0,20}}?(?:{names}){_SUFFIX})=([^\s&#\"'`<>]{{6,}})",
        rf"--(?i:[\w-]{{0,20}}?(?:{names}){_SUFFIX})[ =]{_VALUE}",
        rf"(?i:(?:{names}){_SUFFIX}{links}){_VALUE}",
    )
    return tuple(SecretRule(kind, words, source, accepts) for source in sources)


_BEHIND = (
    *_named("secret", _SECRET, rf"(?:{_OF}{_IS}|[ ])", "secret token credential key", is_random),
    *_named("secret", f"{_ANY_KEY}|{_PASSWORD}", rf"(?:{_OF}{_IS}|[ ])", f"key {_PASSWORDS}", is_key),
)
_USER = r"(?:-u|--user)[ =]?[\"']?[^\s:\"']{1,80}:"
_COMMANDS = "mysql|mariadb|sshpass|docker login|podman login|redis-cli|ldapsearch|htpasswd"
_OPTION = rf"(?:{_COMMANDS})\w*\s(?:[^\n]{{0,200}}?\s)?-[paw][ ]?[\"']?"
_HEADER = r"(?:(?i:basic)[ ]+|auth\"?[ ]*[:=][ ]*\"?)"
_LOGINS: tuple[SecretRule, ...] = (
    *_prefixed("aws-access-key", "AKIA", r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    SecretRule("password", ("://",), r"://[^\s:@/\"'<>]{0,80}:([^\s/\"'<>]+)@(?=[\w.\[-])", is_login),
    SecretRule("password", (" -",), rf"curl\s(?:[^\n]{{0,200}}?\s)?{_USER}([^\s\"']+)", is_login),
    SecretRule("password", ("pass",), r"[?&](?i:pass(?:word|wd)?)=([^\s&#\"'`<>]{6,})", is_login),
    SecretRule("password", (" -",), rf"{_OPTION}([^\s\"'-][^\s\"']{{5,}})", is_password),
    SecretRule("login", ("basic ", "auth"), rf"{_HEADER}([A-Za-z0-9+/]{{8,}}={{0,2}})", _is_header),
)
PLAIN = (*_LOGINS, *_named("password", _PASSWORD, rf"(?:{_OF}{_IS}|[ \n]{_ODD})", _PASSWORDS, is_password))
"""Secrets that may be of letters alone."""
SECRETS = (*_TOKENS, *_AROUND, *PLAIN, *_BEHIND)
"""All rules; those with a distinctive format come first."""
MIXTURE = re.compile(
    r"[0-9A-Z](?:(?<=[a-z].)|(?<=[A-Z][0-9])|(?<=[0-9][A-Z])|(?<=[0-9])(?=[a-z]))(?:(?=\S{5})|(?<=\S{5}.))"
)
"""Letters and digits, or small and capital ones, side by side in a run of ten characters or more: a text without that
has none but the `PLAIN` ones."""


def by_literal(rules: Iterable[SecretRule]) -> tuple[tuple[str, tuple[SecretRule, ...]], ...]:
    """Return which rules to try if a lower-case text has a literal, in table order."""
    tried: dict[str, tuple[SecretRule, ...]] = {}
    for rule in rules:
        for literal in map(str.lower, rule.literals):
            tried[literal] = (*tried.get(literal, ()), rule)
    return tuple(tried.items())


# What personal data looks like; each kind is taken out only where the configuration names it. Pure.

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


RULES: tuple[SecretRule, ...] = (
    SecretRule(
        "email", ("@",), r"(?<![\w.%+-])[\w.%+-]{1,64}+@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![\w-])", bool
    ),
    SecretRule(
        "iban", ("",), r"[A-Z]{2}(?<![A-Za-z0-9]..)\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?!\w)", _is_iban
    ),
    SecretRule("card", ("",), r"[0-9](?<![\w.-][0-9])(?:[ -]?[0-9]){12,18}(?![\w-])", _is_card),
    SecretRule("phone", ("",), rf"{_AREA}(?:[ .\-/]{{0,2}}+\(?+[0-9]{{1,13}}+\)?+){{1,6}}+(?![\w-])", _is_phone),
    SecretRule("ip", (".",), r"[0-9](?<![\w.][0-9])[0-9]{0,2}(?:\.[0-9]{1,3}){3}(?![\w]|\.[0-9])", _is_address),
    SecretRule("ip", (":",), r"[0-9A-Fa-f:](?<![\w:.][0-9A-Fa-f:])[0-9A-Fa-f:]{2,38}(?![\w:])", _is_address),
)
