"""Secrets are found wherever they stand, everyday texts stay as they are, and no text takes long."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from timeit import repeat
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.redact.redactor import Redactor, Secret
from memfolio.redact.rules import SECRETS
from memfolio.settings import PERSONAL, Redaction
from tests.redact.generated import FRAMES, Sample, generated

EVERYDAY = (Path(__file__).parent / "everyday.txt").read_text(encoding="utf-8").splitlines()
KEY = "AKIAQYLPMN5HFIQR7XYA"
GITHUB = "ghp_k3JfP0aQxT7mZs9LwB2cVd5RyUe8HnGi4oN1"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7bq2\nx9Qm8sZkP1vWcY7uRt3b\n"
HIDDEN = re.compile("[\u200b\u200d\u2060]")


def keyed(data: bytes) -> str:
    return blake2b(data, key=b"a home's").hexdigest()


def make(**settings: Any) -> Redactor:
    return Redactor(Redaction(**settings), keyed)


def shown(text: str) -> str:
    """A clean text with `<kind>` in place of each marker."""
    return re.sub(r"\[redacted:([a-z-]+):[0-9a-f]{8}\]", r"<\1>", text)


def is_gone(sample: Sample) -> bool:
    """Whether no eight characters of the secret are left."""
    left = HIDDEN.sub("", make().clean(sample.text))
    return not any(sample.secret[at : at + 8] in left for at in range(max(1, len(sample.secret) - 7)))


def test_generated_secrets_are_found() -> None:
    samples = generated(500)
    made = Counter(sample.kind for sample in samples)
    gone = Counter(sample.kind for sample in samples if is_gone(sample))
    assert len(made) > 30
    assert sum(gone.values()) >= 0.95 * 500
    assert {kind: gone[kind] / made[kind] for kind in made if gone[kind] < 0.9 * made[kind]} == {}


def test_everyday_texts_are_left_alone() -> None:
    assert len(EVERYDAY) >= 150
    changed = [line for line in EVERYDAY if make().clean(line) is not line]
    assert len(changed) <= len(EVERYDAY) / 100, changed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"use {KEY}.", "use <aws-access-key>."),
        (f"token={GITHUB}", "token=<github-token>"),
        ("postgres://ada:s3cr3tP@ss@db.internal/shop", "postgres://ada:<password>@db.internal/shop"),
        ("redis://:hunter2@cache:6379", "redis://:<password>@cache:6379"),
        ("https://x.dev/a?token=aB3d9fKq2LmN0pQr&page=2", "https://x.dev/a?token=<secret>&page=2"),
        ("The password for the router is Xk9!mm2p.", "The password for the router is <password>."),
        ("Das Passwort lautet Otter-2041x", "Das Passwort lautet <password>"),
        ("Пароль: Zima2041x", "Пароль: <password>"),
        ('{\\"password\\": \\"Xk9!mm2p\\"}', '{\\"password\\": \\"<password>\\"}'),
        ("Server=db;Pwd=Xk9!mm2p;Database=shop", "Server=db;Pwd=<password>;Database=shop"),
        ("**Password:** `Xk9!mm2p`", "**Password:** `<password>`"),
        ("ada / password Xk9!mm2p", "ada / password <password>"),
        ("- name: API_KEY\n  value: aB3d9fKq2LmN0pQr", "- name: API_KEY\n  value: <secret>"),
        ("Datadog key 9f86d081884c7d659a2feaa0c55ad015", "Datadog key <secret>"),
        ("Authorization: Basic YWRhOmh1bnRlcjI=", "Authorization: Basic <login>"),
        ('{"auths": {"r": {"auth": "YWRhOmh1bnRlcjI="}}}', '{"auths": {"r": {"auth": "<login>"}}}'),
        ("curl -s -u ada:hunter2 https://x.dev", "curl -s -u ada:<password> https://x.dev"),
        ("Twilio auth token 9f86d081884c7d659a2feaa0c55ad015", "Twilio auth token <secret>"),
        ("$ mysql -u root -pHhFxPo%RFaV8 shop", "$ mysql -u root -p<password> shop"),
        ("sshpass -p 'qRmdpp%RRfrS' ssh ada@x", "sshpass -p '<password>' ssh ada@x"),
        ("redis-server --requirepass g4bpMHCZhkttPvaB", "redis-server --requirepass <password>"),
        ("$ terraform output -raw db_password\n7LjLAQ!sf4thCFEx", "$ terraform output -raw db_password\n<password>"),
        ('variable "db_password" {\n  default = "Exz0wz*sRo8L"', 'variable "db_password" {\n  default = "<password>"'),
        ("login ada password e2ea29752cb1275b176a1464ee", "login ada password <secret>"),
        ("The wifi password at the office is ZR45y3!gtesd.", "The wifi password at the office is <password>."),
        ("a=password&password=lGryKDDWjOjGbt&b=1", "a=password&password=<password>&b=1"),
        ("AWS Secret Access Key [None]: yJBoX1Kxdx8Wnf6AYQh3", "AWS Secret Access Key [None]: <secret>"),
        ("https://7c0731d11ae681c99562cdc6abca5b43@o1.x.dev/4501", "https://<token>@o1.x.dev/4501"),
        ("kubeadm join --token iukzvd.fgtdisch2bff8khp", "kubeadm join --token <secret>"),
        ("Cookie: sessionid=gjsr4gng65p1hfpqgjnb9eynd7yqrusi; a=b", "Cookie: sessionid=<secret>; a=b"),
        ("HRKU-4668d0d3-86c0-3267-084d-ebd35cf0a730 it is", "<api-key> it is"),
        (f"{PEM}-----END RSA PRIVATE KEY-----\nbye", "<private-key>\nbye"),
        (f"{PEM}and so on", "<private-key>\nand so on"),
        (f"{PEM.partition(chr(10))[2]}-----END RSA PRIVATE KEY----- bye", "<private-key> bye"),
        (f"{KEY[:9]}\u200b{KEY[9:]} it is", "<aws-access-key> it is"),
        (f"{KEY} {GITHUB}", "<aws-access-key> <github-token>"),
    ],
)
def test_only_the_secret_is_taken_out(text: str, expected: str) -> None:
    assert shown(make().clean(text)) == expected


def test_find_says_where_and_what() -> None:
    text = f"a\u200b {KEY[:5]}\u200b{KEY[5:]}!"
    assert make().find(text) == [Secret("aws-access-key", 3, 24)]


def test_marker_tells_secrets_apart_and_needs_the_key_of_the_home() -> None:
    one, split, other = (make().clean(text) for text in (KEY, f"{KEY[:8]}\u2060{KEY[8:]}", KEY[:-1] + "B"))
    assert one == split == f"[redacted:aws-access-key:{keyed(KEY.encode())[:8]}]"
    assert one != other
    assert Redactor(Redaction()).clean(KEY) != one


def test_what_has_no_secret_comes_back_itself() -> None:
    text = " ".join(EVERYDAY)
    value = {"title": "plain", "parts": ["a", {"b": 1}], "pair": ("x", None)}
    assert make().clean(text) is text
    assert make().clean_value(value) is value


@pytest.mark.parametrize("kind", ["jwt", "password", "email"])
def test_marker_is_never_taken_out(kind: str) -> None:
    text = f"password={'[redacted:' + kind + ':3f2a91c0]'} and token: [redacted:secret:00112233]"
    assert make(personal=PERSONAL).clean(text) is text


def test_made_up_marker_hides_nothing() -> None:
    assert shown(make().clean(f"[redacted:{GITHUB}:3f2a91c0]")) == "[redacted:<github-token>:3f2a91c0]"


PIECES = [literal for rule in SECRETS for literal in rule.literals]
PIECES += [
    KEY,
    GITHUB,
    PEM,
    "password",
    "token",
    "is",
    *" =:\"'\n-@/.?&,;<>\u200b",
    "a1B2c3D4e5F6",
    "ada@x.dev",
    "1" * 16,
]


@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=5)), max_size=20).map("".join))
def test_what_is_clean_stays_as_it_is(text: str) -> None:
    redactor = make(personal=PERSONAL)
    clean = redactor.clean(text)
    assert redactor.clean(clean) is clean


def test_texts_inside_values_are_cleaned_also_by_the_name_of_their_field() -> None:
    value = {"note": f"use {KEY}", "login": {"user": "ada1815", "password": "Xk9!mm2p"}, "all": [1, (GITHUB,)]}
    cleaned = make().clean_value(value)
    assert [shown(str(part)) for part in (cleaned["note"], cleaned["login"], cleaned["all"])] == [
        "use <aws-access-key>",
        "{'user': 'ada1815', 'password': '<password>'}",
        "[1, ('<github-token>',)]",
    ]


def test_settings_say_what_is_taken_out() -> None:
    assert make(secrets=False).clean(KEY) == KEY
    assert make(allow=(KEY,)).clean(f"{KEY} {GITHUB}").startswith(f"{KEY} [redacted:")
    assert make().clean("ada@example.org") == "ada@example.org"


@pytest.mark.parametrize(
    ("kind", "found", "left"),
    [
        ("email", ["ada@example.org", "a.b+c@mail.co.uk"], ["@ada", "ada@home", "a@b.c"]),
        ("phone", ["+49 151 23456789", "+4915123456789", "(030) 1234567", "555-123-4567"], ["2024-03-15", "12 345"]),
        ("iban", ["DE89 3704 0044 0532 0130 00", "GB82WEST12345698765432"], ["DE88 3704 0044 0532 0130 00"]),
        ("card", ["4111 1111 1111 1111", "5500-0000-0000-0004"], ["4111 1111 1111 1112", "1794753005123"]),
        ("ip", ["192.168.1.17", "fe80::1ff:fe23:4567:890a"], ["1.2.3", "300.1.1.1", "14:30:05", "::"]),
    ],
)
def test_personal_data_is_taken_out_where_it_is_wished(kind: str, found: list[str], left: list[str]) -> None:
    redactor = make(personal=(kind,))
    assert [shown(redactor.clean(f"It is {text}, yes.")) for text in found] == [f"It is <{kind}>, yes."] * len(found)
    assert [text for text in left if redactor.find(f"It is {text}, yes.")] == []
    assert redactor.find("M-1794753005123-a3f2c91d") == []


@pytest.mark.serial
def test_text_without_secrets_costs_next_to_nothing() -> None:
    clean, words = make().clean, re.compile(r"\w+").findall
    text = ("Good to see you, we are swamped with the kids & work. Since 2019 I'm at YouTube, till 5pm. " * 4)[:300]
    long = ("\n".join(EVERYDAY) * 20)[:100_000]

    def cost(act: Callable[[str], object], given: str, number: int) -> float:
        return min(repeat(lambda: act(given), number=number, repeat=12, timer=time.process_time))

    assert cost(clean, text, 500) < 2.5 * cost(words, text, 500)
    assert cost(clean, long, 2) < 100 * cost(words, long, 2)


HOSTILE = """\
a1B2|password=|password for x|-----BEGIN RSA PRIVATE KEY-----|aB3dEfGh1jKlMnOp~|://a:|curl -u |eyJ-|secret_|token to a
パスワードeyJntn_|?token=|--token|SG.aB1|1|1 |a@|a.b@c.|::|12345678:|[redacted:|\u200b|password: '|1111 1111 |Key=pass>
gsk_-----BEGIN kennwort==|ghp_k3JfP0aQxT7mZs9LwB2cVd5RyUe8HnGi4oN1|mysql -p|docker login|://aaaaaaaaaaaaaaaaaaaaaaaa
&x-signature=|password {|password~|key [x]"""


@pytest.mark.parametrize("piece", HOSTILE.replace("\n", "|").replace("~", "\n").split("|"))
def test_no_text_takes_long(piece: str) -> None:
    text = (piece * 100_000)[:100_000]
    start = time.process_time()
    make(personal=PERSONAL).clean(f"{text}!A1b2C3d4E5 -----END RSA PRIVATE KEY-----")
    assert time.process_time() - start < 2


def test_frames_of_the_generator_say_nothing_by_themselves() -> None:
    assert [frame for frame in FRAMES if make().find(frame.format("word"))] == []
