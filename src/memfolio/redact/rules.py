"""What secrets look like: one table of rules. Pure.

A rule costs a look for its literal; only a text that has it is searched with the pattern. Patterns begin with what is
rare and look back from there, and have nothing to try twice, so that no text makes them slow.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable, Iterable
from typing import NamedTuple

from memfolio.redact.strength import is_key, is_login, is_mixed, is_password, is_random, is_real

Judge = Callable[[str], bool]


class Rule(NamedTuple):
    """One kind of secret: a text that has one of the literals, in any case, is searched for the pattern.

    The secret is the pattern's first group, or all of it, if `accepts` says so.
    """

    kind: str
    literals: tuple[str, ...]
    source: str
    accepts: Judge = is_real


def _prefixed(kind: str, prefixes: str, body: str, accepts: Judge = is_real) -> tuple[Rule, ...]:
    """A rule for each prefix of a token that stands for itself."""
    return tuple(
        Rule(kind, (prefix,), rf"{re.escape(prefix)}(?<![A-Za-z0-9]{re.escape(prefix)})(?a:{body})", accepts)
        for prefix in prefixes.split()
    )


def _is_header(value: str) -> bool:
    """Whether base64 holds `user:password`."""
    try:
        said = b64decode(value + "=" * (-len(value) % 4), validate=True).decode()
    except ValueError:
        return False
    return ":" in said and said.isprintable()


def _has_body(block: str) -> bool:
    """Whether there is more between two lines that name a key than words about it."""
    return re.search("[A-Za-z0-9+/]{20}", block) is not None


_LETTERS = "[A-Za-z0-9]"
_HEX = "[0-9a-f]"
_WORD = r"[\w-]"
_VENDORS = (
    "dop_v1_ doo_v1_ dor_v1_ shpat_ shpss_ shpca_ hvs. hvb. whsec_ gsk_ xai- pplx- r8_ lin_api_ ntn_ glsa_ glc_ sbp_"
    " figd_ PMAK- NRAK- ATATT3 ATCTT3 ATBB AGE-SECRET-KEY-1 HRKU- dapi dckr_pat_ dckr_oat_ sqp_ squ_ sqa_ nvapi- tvly-"
    " pcsk_ lsv2_ sntrys_ sntryu_ phx_ tskey- SWMTKN- rubygems_ CFPAT- FlyV1 fm2_ xkeysib- key- sq0csp- sq0atp-"
    " rzp_live_ pscale_ pat-na1- dt0c01. sgp_ ops_eyJ amzn.mws. AKCp sl.B cio_ bkua_ rpa_ fo1_ vcp_"
)
"""How tokens of further services begin."""
_TOKENS: tuple[Rule, ...] = (
    *_prefixed("aws-access-key", "ASIA", r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    *_prefixed("github-token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"\w{30,}"),
    *_prefixed("gitlab-token", "glpat- gldt- glrt- glptt- glcbt-", r"[\w.-]{20,}"),
    *_prefixed("slack-token", "xox xapp-", r"[a-z0-9](?:\.xox[a-z])?-[\w-]{10,}"),
    *_prefixed("slack-webhook", "hooks.slack.com/", r"(?:services|workflows|triggers)/([\w/-]{20,})"),
    *_prefixed("stripe-key", "sk_ rk_", rf"(?:live|test)_{_LETTERS}{{16,}}"),
    *_prefixed("anthropic-key", "sk-ant-", rf"{_WORD}{{20,}}"),
    *_prefixed("openai-key", "sk-", rf"{_WORD}{{20,}}", is_random),
    *_prefixed("google-api-key", "AIza", rf"{_WORD}{{35,}}"),
    *_prefixed("google-token", "ya29. 1//0 GOCSPX-", r"[\w.-]{20,}"),
    *_prefixed("huggingface-token", "hf_", rf"{_LETTERS}{{30,}}"),
    *_prefixed("npm-token", "npm_", rf"{_LETTERS}{{30,}}"),
    *_prefixed("pypi-token", "pypi-", rf"{_WORD}{{50,}}"),
    *_prefixed("twilio-key", "SK AC", rf"{_HEX}{{32}}(?!\w)"),
    *_prefixed("sendgrid-key", "SG.", rf"{_WORD}{{16,}}\.{_WORD}{{16,}}"),
    *_prefixed("api-key", _VENDORS, r"[\w.=-]{20,}", is_mixed),
    *_prefixed("jwt", "eyJ", rf"(?<![_-]eyJ){_WORD}{{8,}}+\.eyJ{_WORD}{{8,}}(?:\.{_WORD}*)?"),
    Rule("azure-client-secret", ("Q~",), r"[0-9]Q~(?<=(?<![\w~.-])[\w~.-]{3}[0-9]Q~)[\w~.-]{31,34}(?![\w~-])"),
    Rule("telegram-token", (":",), r":(?<=[0-9]{8}:)(?<![0-9]{11}:)[\w-]{35}(?![\w-])"),
    Rule("discord-token", (".",), rf"[MNO](?<!\w[MNO]){_WORD}{{23,27}}\.{_WORD}{{6}}\.{_WORD}{{27,}}", is_mixed),
    Rule("discord-webhook", ("/api/webhooks/",), rf"/api/webhooks/[0-9]{{16,20}}/({_WORD}{{50,}})"),
)

_BLANK = r"(?:\s|\\[nr])"
_LINE = r"(?:[A-Za-z0-9+/]{16,}+={0,2}+|[A-Za-z0-9+/]{1,15}={1,2})"
_BASE64 = rf"{_LINE}(?:{_BLANK}++{_LINE})*+"
_LAST = rf"(?:{_BLANK}++[\w+/=]{{1,15}})?+{_BLANK}*+"
_KEY = r"[A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
_AROUND: tuple[Rule, ...] = (
    Rule("private-key", ("-----BEGIN ",), rf"-----BEGIN {_KEY}(?:[^-]|-(?!----))*+-----END {_KEY}", _has_body),
    Rule("private-key", ("-----BEGIN ",), rf"-----BEGIN {_KEY}{_BLANK}*+(?:[\w-]+: [^\n]*+\s++)*+{_BASE64}", bool),
    Rule("private-key", ("-----END ",), rf"({_BASE64}{_LAST}-----END {_KEY})|{_BASE64}", bool),
    Rule("token", ("bearer ",), r"(?i:bearer)[ ]+([\w.~+/-]{16,}=*)", is_random),
    Rule("azure-key", ("Key=",), r"Key=(?<=Account....|dAccess....)([A-Za-z0-9+/]{40,}={0,2})"),
    Rule("signature", ("sig=", "signature="), r"[?&](?i:sig|[\w-]{0,10}signature)=([\w%+/=-]{40,})"),
    Rule("secret", ("sessid=", "sessionid=", "appid="), r"(?i:sess(?:ion)?id|appid)=([\w%.-]{24,})", is_key),
    Rule("token", ("://",), r"://([^\s:@/\"'<>?#]{20,200})@(?=[\w.\[-])", is_random),
)


_PASSWORD = (
    "pass(?:wor[dt]|wd|phrase|code|(?<![mrsy]pass)(?![a-z])|e(?<=mot de passe))|pw(?:d|(?![a-z]))"
    "|kennwort|contraseña|парол[ья]|密码|パスワード"
)
_PASSWORDS = "pass pw kennwort contraseña парол 密码 パスワード"
_QUALIFIERS = "api access private account shared signing encryption auth client master service deploy admin app secret"
_QUALIFIED = "|".join(f"(?<={word}{link}key)" for word in _QUALIFIERS.split() for link in ("", "[ _-]"))
_SECRET = f"secret|token(?!s|i[zs])|credential|key(?:{_QUALIFIED})"
_OTHER_KEYS = "public primary foreign cache idempotency object partition row sort".split()
_ANY_KEY = "key(?![a-z])" + "".join(f"(?<!{word}.key)" for word in _OTHER_KEYS)
_SUFFIX = r"[\w-]{0,30}+" + "".join(
    f"(?<!{word})"
    for word in "id ids name names file path dir url uri type length size limit count policy field format version class"
    " hash hint label expiry expires ttl prefix arn manager store".split()
)
"""What a name may end in, but for what stands beside a secret, as in `token_url`."""
_OF = r"(?:[ \t]+(?:for|to|of|on|at|in)[ \t][^\n.:=\"']{1,40}?)?"
_LINK = (
    r"(?:(?::=|=>|[:=：→|])[*_]{0,2}|\b(?:is|are|was|ist|lautet|est|es|to)\b:?|[\s{]{1,20}(?:value|default)[ ]?[:=])"
)
_IS = rf"(?:(?: \[\w*\])?[\\\"'`*\]]{{0,6}}[ \t]*{_LINK}|[\"']?[ ]?[,(](?=[ ]?[\"'])|>)[ \t]*"
_ODD = r"(?=\S*[0-9])(?=\S*(?:[@#$%^&+=~]|[!?*]\w))"
"""What can be nothing but a password even where only a blank stands before it."""
_VALUE = (
    r"[\\\"'`*]{0,4}((?<=\")[^\s\"]{5,}[^\s\"\\](?=\\?\")|(?<=')[^\s']{5,}[^\s'\\](?=\\?')"
    r"|[^\s\"'`<>,;]{5,}[^\s\"'`<>,;.:?)\]}*\\])"
)


def _named(kind: str, names: str, links: str, literals: str, accepts: Judge) -> tuple[Rule, ...]:
    """Rules for what stands behind its name: `DB_PASSWORD=…`, `?token=…`, `--secret …`, `the password of it is …`."""
    words = tuple(literals.split())
    sources = (
        rf"[?&](?i:[\w-]{{0,20}}?(?:{names}){_SUFFIX})=([^\s&#\"'`<>]{{6,}})",
        rf"--(?i:[\w-]{{0,20}}?(?:{names}){_SUFFIX})[ =]{_VALUE}",
        rf"(?i:(?:{names}){_SUFFIX}{links}){_VALUE}",
    )
    return tuple(Rule(kind, words, source, accepts) for source in sources)


_BEHIND = (
    *_named("secret", _SECRET, rf"(?:{_OF}{_IS}|[ ])", "secret token credential key", is_random),
    *_named("secret", f"{_ANY_KEY}|{_PASSWORD}", rf"(?:{_OF}{_IS}|[ ])", f"key {_PASSWORDS}", is_key),
)
_USER = r"(?:-u|--user)[ =]?[\"']?[^\s:\"']{1,80}:"
_COMMANDS = "mysql|mariadb|sshpass|docker login|podman login|redis-cli|ldapsearch|htpasswd"
_OPTION = rf"(?:{_COMMANDS})\w*\s(?:[^\n]{{0,200}}?\s)?-[paw][ ]?[\"']?"
_HEADER = r"(?:(?i:basic)[ ]+|auth\"?[ ]*[:=][ ]*\"?)"
_LOGINS: tuple[Rule, ...] = (
    *_prefixed("aws-access-key", "AKIA", r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    Rule("password", ("://",), r"://[^\s:@/\"'<>]{0,80}:([^\s/\"'<>]+)@(?=[\w.\[-])", is_login),
    Rule("password", (" -",), rf"curl\s(?:[^\n]{{0,200}}?\s)?{_USER}([^\s\"']+)", is_login),
    Rule("password", ("pass",), r"[?&](?i:pass(?:word|wd)?)=([^\s&#\"'`<>]{6,})", is_login),
    Rule("password", (" -",), rf"{_OPTION}([^\s\"'-][^\s\"']{{5,}})", is_password),
    Rule("login", ("basic ", "auth"), rf"{_HEADER}([A-Za-z0-9+/]{{8,}}={{0,2}})", _is_header),
)
PLAIN = (*_LOGINS, *_named("password", _PASSWORD, rf"(?:{_OF}{_IS}|[ \n]{_ODD})", _PASSWORDS, is_password))
"""Secrets that may be of letters alone."""
SECRETS = (*_TOKENS, *_AROUND, *PLAIN, *_BEHIND)
"""All of them; what has a form of its own comes first."""
MIXTURE = re.compile(
    r"[0-9A-Z](?:(?<=[a-z].)|(?<=[A-Z][0-9])|(?<=[0-9][A-Z])|(?<=[0-9])(?=[a-z]))(?:(?=\S{5})|(?<=\S{5}.))"
)
"""Letters and digits, or small and capital ones, side by side in a run of ten characters or more: a text without that
has none but the `PLAIN` ones."""


def by_literal(rules: Iterable[Rule]) -> tuple[tuple[str, tuple[Rule, ...]], ...]:
    """Which rules to try where a text in small letters has a literal, in the order of the table."""
    tried: dict[str, tuple[Rule, ...]] = {}
    for rule in rules:
        for literal in map(str.lower, rule.literals):
            tried[literal] = (*tried.get(literal, ()), rule)
    return tuple(tried.items())
