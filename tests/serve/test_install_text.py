"""Editing the files of hosts: what is put in comes out again, and nothing else is touched."""

from __future__ import annotations

import json
import string
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.serve.install import files
from memfolio.serve.install.hosts import HOSTS, Host, Program, Settings

CLAUDE_CODE, CODEX, GEMINI = (HOSTS[name] for name in ("claude-code", "codex", "gemini"))

PROGRAM = Program(path="/opt/memfolio", options=("--home", "/a b"))
TABLE = "mcp_servers.memfolio"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
OBJECTS = st.dictionaries(st.text(min_size=1), JSON, max_size=5)
ODD = [
    "{}",
    "{ }",
    '{"a": 1}',
    '{"a": 1,}',
    '{\n  "a": 1, // why\n}\n',
    '{\n  "a": 1 // why\n}\n',
    '// top\n{\n\t"a": [1, 2],\n\t/* b */ "b": {}\n}',
    "{\n  // bare keys\n  a: 'it\\'s \"x\"',\n  $b: .5,\n  c: 0xFF, d: +Infinity, e: [1,2,],\n}",
    '{\r\n    "a": 1,\r\n    "b": "\\u00e9 é"\r\n}\r\n',
    '{"mcpServers":{"x":{"command":"x"}},"hooks":{"Stop":[{"hooks":[{"type":"command","command":"say"}]}]}}',
    '{\n  "hooks": {\n    "Stop": [\n      {"hooks": [{"type": "command", "command": "say"}]},\n    ],\n  },\n}\n',
    '{"hooks": {"Stop": []}, "mcpServers": {\n}}',
    '{"list": ["hooks", {"hooks": []}, {"hooks": 3}]}',
]


def settings(host: Host, path: str = "settings.json") -> Settings:
    hooks = {} if path.endswith(".toml") else host.hooks_of(PROGRAM)
    return Settings(host=host, path=Path(path), wanted=host.servers_of(PROGRAM) | hooks)


def unruly(value: Any, draw: Any) -> str:
    """The value as JSON with comments, odd blanks and trailing commas."""
    blank: str = draw(st.sampled_from(["", " ", "\n", "\r\n  ", "/* { */", " // ]\n", "\t"]))
    if not isinstance(value, dict | list) or not value:
        return blank + json.dumps(value, ensure_ascii=draw(st.booleans())) + blank
    inner = [unruly(each, draw) for each in (value.values() if isinstance(value, dict) else value)]
    keys = [f"{blank}{json.dumps(key)}{blank}:" for key in value] if isinstance(value, dict) else [""] * len(inner)
    both: str = ",".join(key + each for key, each in zip(keys, inner, strict=True)) + draw(
        st.sampled_from(["", ",", ",\n"])
    )
    return blank + ("{" + both + "}" if isinstance(value, dict) else "[" + both + "]") + blank


@st.composite
def documents(draw: Any) -> tuple[dict[str, Any], str]:
    """Settings of somebody who may have servers and hooks of their own."""
    hook = st.builds(lambda said: {"type": "command", "command": said}, st.sampled_from(["say", "memfolio recall x"]))
    group = st.fixed_dictionaries({"hooks": st.lists(hook, min_size=1, max_size=2)}, optional={"matcher": st.just("*")})
    hooks = st.dictionaries(st.sampled_from(["Stop", "AfterAgent", "Else"]), st.lists(group, max_size=2), max_size=3)
    servers = st.dictionaries(st.sampled_from(["x", "y"]), st.just({"command": "npx"}), max_size=2)
    value = draw(OBJECTS) | draw(st.fixed_dictionaries({}, optional={"hooks": hooks, "mcpServers": servers}))
    ordered = dict(draw(st.permutations(list(value.items()))))
    return ordered, unruly(ordered, draw)


@st.composite
def mixed(draw: Any) -> tuple[dict[str, Any], str]:
    """Settings in which somebody has moved our parts about, and the same without them."""
    theirs, _ = draw(documents())
    ours = settings(GEMINI).wanted
    hooks, servers = theirs.get("hooks", {}), theirs.get("mcpServers", {})
    both = {event: hooks.get(event, []) + ours["hooks"].get(event, []) for event in {**ours["hooks"], **hooks}}
    moved = {event: draw(st.permutations(groups)) for event, groups in both.items()}
    named = dict(draw(st.permutations([*servers.items(), *ours["mcpServers"].items()])))
    whole = list((theirs | {"hooks": moved, "mcpServers": named}).items())
    return theirs, unruly(dict(draw(st.permutations(whole))), draw)


def as_written(value: Any) -> Any:
    """Numbers and the like as the texts by which they are written."""
    if isinstance(value, dict):
        return {key: as_written(each) for key, each in value.items()}
    if isinstance(value, list):
        return [as_written(each) for each in value]
    return value if isinstance(value, str) else json.dumps(value)


def filled(value: Any) -> Any:
    """Without what is empty: an empty object that only held our parts cannot be told from one that was there."""
    if not isinstance(value, dict):
        return value
    return {key: each for key, inner in value.items() if (each := filled(inner)) not in ({}, [])}


@given(documents())
def test_every_document_is_understood(document: tuple[dict[str, Any], str]) -> None:
    value, text = document
    assert files.scan(text).plain == as_written(value)


@given(documents(), st.sampled_from([CLAUDE_CODE, GEMINI]))
def test_what_is_put_in_is_found_and_taken_out_again(document: tuple[dict[str, Any], str], host: Host) -> None:
    value, text = document
    edited = settings(host).with_ours(text)
    said = files.scan(edited).plain
    assert said["mcpServers"]["memfolio"]["command"] == "/opt/memfolio"
    assert settings(host).with_ours(edited) == edited
    left = files.scan(settings(host).without_ours(edited)).plain
    assert filled(left) == filled(as_written(value))


@given(mixed())
def test_our_parts_are_taken_out_wherever_they_stand(document: tuple[dict[str, Any], str]) -> None:
    theirs, text = document
    left = files.scan(settings(GEMINI).without_ours(text)).plain
    assert {key: sorted(map(str, each)) for key, each in filled(left).get("hooks", {}).items()} == {
        key: sorted(map(str, each)) for key, each in filled(as_written(theirs)).get("hooks", {}).items()
    }
    rest = {key: each for key, each in filled(as_written(theirs)).items() if key != "hooks"}
    assert {key: each for key, each in filled(left).items() if key != "hooks"} == rest


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"a": 1, // note\n "mcpServers": {"memfolio": OURS}, "b": 2}', '{"a": 1, // note\n  "b": 2}'),
        ('{"a": 1, // note\n "mcpServers": {"memfolio": OURS}}', '{"a": 1 // note\n }'),
        ('{// note\n "mcpServers": {"memfolio": OURS}}', "{// note\n }"),
        ('{"mcpServers": {// note\n "memfolio": OURS}, "b": 1}', '{"mcpServers": {// note\n }, "b": 1}'),
        ('{"mcpServers": {"memfolio": OURS, "x": {}}}', '{"mcpServers": { "x": {}}}'),
    ],
)
def test_a_comment_beside_our_part_keeps_its_line(before: str, after: str) -> None:
    text = before.replace("OURS", '{"command": "memfolio", "args": ["mcp"]}')
    assert settings(GEMINI).without_ours(text) == after


@pytest.mark.parametrize("text", ODD)
def test_odd_text_comes_back_to_the_letter(text: str) -> None:
    edited = settings(GEMINI).with_ours(text)
    assert settings(GEMINI).with_ours(edited) == edited
    assert all(part in edited for part in ("/opt/memfolio hook gemini BeforeAgent --home '/a b'", '"--home"'))
    bare = settings(GEMINI).without_ours(edited)
    if "Stop" not in text:
        assert "".join(bare.split()) == "".join(text.split())
    assert filled(files.scan(bare).plain) == filled(files.scan(text).plain)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "{",
            "[1",
            '{"a" 1}',
            '{"a": 1 "b": 2}',
            '{"a": tru}',
            '{"a": 1}}',
            "{'a: 1}",
            '{"a": "\\x"}',
            "nonsense",
            "{,}",
        ),
        '{"a":' * 100_000,
    ],
)
def test_broken_text_is_told_with_its_line(text: str) -> None:
    with pytest.raises(ValueError, match=r"line 1 cannot|nested too deeply"):
        files.scan(text)


@pytest.mark.parametrize("text", ['{"hooks": []}', '{"mcpServers": null}', "[]", '{"hooks": {"AfterAgent": {}}}'])
def test_what_stands_in_the_way_is_told(text: str) -> None:
    with pytest.raises(ValueError, match="is not"):
        settings(GEMINI).with_ours(text)


def test_a_hook_that_was_put_into_a_group_with_ours_stays_there() -> None:
    edited = settings(CLAUDE_CODE).with_ours("{}")
    document = json.loads(edited)
    document["hooks"]["Stop"][0]["hooks"].append({"type": "command", "command": "say done"})
    left = json.loads(settings(CLAUDE_CODE).without_ours(json.dumps(document)))
    assert left == {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}}


def test_a_part_of_another_home_is_replaced_and_not_doubled() -> None:
    other = Settings(host=CLAUDE_CODE, path=Path("a.json"), wanted=CLAUDE_CODE.hooks_of(Program(path="/old/memfolio")))
    edited = settings(CLAUDE_CODE).with_ours(other.with_ours('{"a": 1}'))
    assert "/old/" not in edited
    assert json.loads(edited) == json.loads(settings(CLAUDE_CODE).with_ours('{"a": 1}'))


def test_what_a_person_changed_in_our_parts_stays_when_it_is_installed_again() -> None:
    claude, document = settings(CLAUDE_CODE), json.loads(settings(CLAUDE_CODE).with_ours("{}"))
    group, server = document["hooks"]["SessionStart"][0], document["mcpServers"]["memfolio"]
    group["matcher"], group["hooks"][0]["timeout"], server["env"] = "startup", 30, {"A": "1"}
    server["args"] += ["--tools", "all"]
    text = "// mine\n" + json.dumps(document)
    assert claude.with_ours(text) == text
    new = Program(path="/new/memfolio", options=PROGRAM.options)
    moved = Settings(
        host=CLAUDE_CODE, path=Path("a.json"), wanted=CLAUDE_CODE.servers_of(new) | CLAUDE_CODE.hooks_of(new)
    )
    assert moved.with_ours(text) == text.replace("/opt/", "/new/").replace(', "--tools", "all"', "")


TOML = [
    "",
    'model = "x"',
    '# top\nmodel = "x"\n\n[mcp_servers.other]\ncommand = "y"\nargs = [\n  "[mcp_servers.memfolio]",\n]\n',
    '[profiles."a.b"]\r\nx = 1\r\n',
    "[mcp_servers]\n",
]


@pytest.mark.parametrize("text", TOML)
def test_table_is_put_at_the_end_and_taken_out_again(text: str) -> None:
    codex = settings(CODEX, "config.toml")
    edited = codex.with_ours(text)
    assert edited.startswith(text)
    assert tomllib.loads(edited)["mcp_servers"]["memfolio"]["args"] == ["mcp", "--home", "/a b"]
    assert codex.with_ours(edited) == edited
    assert codex.without_ours(edited).rstrip("\r\n") == text.rstrip("\r\n")


def test_table_that_stands_in_a_text_too_is_left_to_the_person() -> None:
    codex = settings(CODEX, "config.toml")
    edited = codex.with_ours('text = """\n[mcp_servers.memfolio]\ncommand = 1\n"""\n')
    with pytest.raises(ValueError, match="not written as a table"):
        codex.without_ours(edited)


def test_what_a_person_writes_around_the_table_stays() -> None:
    codex = settings(CODEX, "config.toml")
    edited = (
        codex.with_ours('model = "x"\n') + '\n# mine\n[mcp_servers.memfolio.env]\nA = "1"\n\n# z\n[z]\nb = [\n  1,\n]\n'
    )
    assert codex.without_ours(edited) == 'model = "x"\n\n# mine\n\n# z\n[z]\nb = [\n  1,\n]\n'


def test_what_a_person_changed_in_the_table_stays_when_it_is_installed_again() -> None:
    codex = settings(CODEX, "config.toml")
    mine = '[mcp_servers.memfolio]\nargs = [ # old\n  "mcp",\n]\ntool_timeout_sec = 9\ncommand = "/old/memfolio"\n'
    rest = '\n[mcp_servers.memfolio.env]\nA = "1"\n\n[other]\ncommand = "x"\n'
    renewed = codex.with_ours(mine + rest)
    server = {"command": "/opt/memfolio", "args": ["mcp", "--home", "/a b"], "tool_timeout_sec": 9, "env": {"A": "1"}}
    assert tomllib.loads(renewed) == {"mcp_servers": {"memfolio": server}, "other": {"command": "x"}}
    assert renewed.endswith(rest)
    told = renewed.replace('"/a b"]', '"/a b", "--tools", "all"]')
    assert codex.with_ours(told) == told


@pytest.mark.parametrize(
    "text", ["mcp_servers = {}\n", 'mcp_servers = { a = { command = "x" } }\n', "mcp_servers = 1\n"]
)
def test_table_that_does_not_fit_is_told(text: str) -> None:
    with pytest.raises(ValueError, match=r"does not fit|Cannot"):
        settings(CODEX, "config.toml").with_ours(text)


def test_keys_with_dots_cannot_be_taken_out_and_are_told() -> None:
    text = 'mcp_servers.memfolio.command = "memfolio"\nmcp_servers.memfolio.args = ["mcp"]\n'
    with pytest.raises(ValueError, match="not written as a table"):
        settings(CODEX, "config.toml").without_ours(text)


@given(st.dictionaries(st.text(string.ascii_lowercase, min_size=1), st.integers() | st.text(), max_size=4))
def test_values_are_written_as_toml_reads_them(values: dict[str, Any]) -> None:
    plain = {key: each for key, each in values.items() if not isinstance(each, int) or abs(each) < 2**63}
    text = files.merged_toml("a = 1\n", TABLE, plain)
    assert tomllib.loads(text) == {"a": 1, "mcp_servers": {"memfolio": plain}}
    assert files.without_toml(text, TABLE) == "a = 1\n"


def test_every_host_is_told_of_the_events_that_hooks_know() -> None:
    from memfolio.serve.hooks.door import ACTS

    assert {name for name, host in HOSTS.items() if host.hooks} == set(ACTS)
