"""Configuration: where values come from, which wins, and what is said about wrong ones."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memfolio import machine
from memfolio.config import FORMAT, KEYS, Config, default_home, default_toml, load_config
from memfolio.errors import AgentIdError, ConfigError, HomeFormatError, InputError, MemfolioError
from memfolio.settings import RETIRED, SHOWN, variable_of


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def write(home: Path, text: str | bytes) -> None:
    (home / "memfolio.toml").write_bytes(text.encode() if isinstance(text, str) else text)


def load(home: Path, text: str | bytes = "", environ: Mapping[str, str] | None = None, **overrides: object) -> Config:
    write(home, text)
    return load_config(home, environ=environ or {}, overrides=overrides)


def refusal(home: Path, text: str | bytes = "", environ: Mapping[str, str] | None = None, **overrides: object) -> str:
    """Message and hint of the ConfigError that loading gives."""
    with pytest.raises(ConfigError) as caught:
        load(home, text, environ, **overrides)
    assert caught.value.hint
    return f"{caught.value.message} | {caught.value.hint}"


def test_home_without_file_has_the_defaults(home: Path) -> None:
    config = load_config(home, environ={"TZ": "Asia/Tokyo"}, overrides={})
    assert (config.timezone, config.zone) == ("Asia/Tokyo", ZoneInfo("Asia/Tokyo"))
    assert (config.max_content_bytes, config.max_ledger_bytes) == (1_048_576, 131_072)
    assert (config.lock_timeout, config.commit_delay) == (10, 0.5)
    assert config.learn.idle == timedelta(minutes=30)
    assert (config.git.enabled, config.git.branch, config.format) == (True, "main", 1)
    assert (config.home, config.agent) == (home, "main")
    assert (config.embedding.provider, config.embedding.url, config.embedding.model) == ("auto", "", "")
    assert (config.embedding.timeout, config.embedding.key, config.watch) == (10, "", True)


def test_missing_home_has_the_defaults(tmp_path: Path) -> None:
    assert load_config(tmp_path / "nowhere", environ={}).git.branch == "main"


def test_argument_wins_over_environment_over_file_over_default(home: Path) -> None:
    text, environ = "lock_timeout = 1", {"MEMFOLIO_LOCK_TIMEOUT": "2"}
    assert load(home).lock_timeout == 10
    assert load(home, text).lock_timeout == 1
    assert load(home, text, environ).lock_timeout == 2
    assert load(home, text, environ, lock_timeout=3).lock_timeout == 3


def test_argument_that_is_none_and_empty_variable_count_as_not_given(home: Path) -> None:
    assert load(home, "lock_timeout = 1", {"MEMFOLIO_LOCK_TIMEOUT": ""}, lock_timeout=None).lock_timeout == 1


def test_file_sets_every_key(home: Path) -> None:
    config = load(
        home,
        """
        format = 1
        timezone = "Europe/Berlin"
        max_content_bytes = 10
        max_ledger_bytes = 4096
        lock_timeout = 0.25
        commit_delay = 0
        watch = false
        learn.idle = "PT1H"
        [git]
        enabled = false
        branch = "memory/main"
        [embedding]
        provider = "http"
        url = "https://example.org/v1"
        model = "org/small"
        timeout = 2.5
        """,
    )
    assert config.timezone == "Europe/Berlin"
    assert (config.max_content_bytes, config.max_ledger_bytes, config.lock_timeout) == (10, 4096, 0.25)
    assert (config.commit_delay, config.learn.idle) == (0, timedelta(hours=1))
    assert (config.git.enabled, config.git.branch, config.watch) == (False, "memory/main", False)
    assert (config.embedding.provider, config.embedding.url) == ("http", "https://example.org/v1")
    assert (config.embedding.model, config.embedding.timeout) == ("org/small", 2.5)


def test_environment_sets_every_kind_of_key(home: Path) -> None:
    environ = {
        "MEMFOLIO_TIMEZONE": "UTC",
        "MEMFOLIO_MAX_CONTENT_BYTES": "10",
        "MEMFOLIO_COMMIT_DELAY": "1.5",
        "MEMFOLIO_LEARN_IDLE": "PT30S",
        "MEMFOLIO_GIT_ENABLED": "off",
        "MEMFOLIO_AGENT": "helper",
        "MEMFOLIO_MACHINE": "laptop",
    }
    config = load(home, "", environ)
    assert (config.timezone, config.max_content_bytes, config.commit_delay) == ("UTC", 10, 1.5)
    assert (config.learn.idle, config.git.enabled) == (timedelta(seconds=30), False)
    assert (config.agent, config.machine, config.machine_name) == ("helper", "laptop", "laptop")


def test_variables_meant_for_others_are_ignored(home: Path) -> None:
    assert load(home, "", {"MEMFOLIO_SOMETHING": "x", "MEMFOLIO_FORMAT": "9"}).format == 1


def test_file_with_bom_and_windows_line_ends_is_read(home: Path) -> None:
    assert load(home, b"\xef\xbb\xbftimezone = 'UTC'\r\nlock_timeout = 4\r\n").lock_timeout == 4


def test_broken_toml_names_file_and_line(home: Path) -> None:
    said = refusal(home, "lock_timeout = 1\ncommit_delay 2\n")
    assert str(home / "memfolio.toml") in said
    assert "line 2" in said


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("format = 1\n\nlock_timeout = 'long'\n", 3),
        ("# branch = 1\n[git]\n# about branches\nbranch = 5\n", 4),
        ("format = 1\ngit.branch = 5\n", 2),
        ("[embedding]\ntimeout = 5\n[git]\n'enabled' = 5\n", 4),
    ],
)
def test_wrong_value_names_its_line(home: Path, text: str, line: int) -> None:
    assert f"memfolio.toml, line {line}: " in refusal(home, text)


@pytest.mark.parametrize("name", ["", " "])
def test_home_without_a_name_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="empty name"):
        load_config(name, environ={})


def test_invalid_utf8_names_its_line(home: Path) -> None:
    said = refusal(home, b"lock_timeout = 1\ntimezone = '\xff'\n")
    assert "UTF-8" in said
    assert "line 2" in said


def test_folder_in_place_of_the_file_is_refused(home: Path) -> None:
    (home / "memfolio.toml").mkdir()
    with pytest.raises(ConfigError, match="not a file"):
        load_config(home, environ={})


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this platform has no named pipes")
def test_named_pipe_in_place_of_the_file_is_refused_and_does_not_hang(home: Path) -> None:
    os.mkfifo(home / "memfolio.toml")
    with pytest.raises(ConfigError, match="not a file"):
        load_config(home, environ={})


def test_home_with_nul_in_its_name_is_refused() -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config("/tmp/a\0b", environ={})


def problems(home: Path, text: str = "", environ: Mapping[str, str] | None = None) -> list[str]:
    return [" | ".join(each) for each in load(home, text, environ).problems]


@pytest.mark.parametrize(
    ("text", "line", "hint"),
    [
        ("format = 1\ntimezon = 'UTC'\n", 2, "did you mean timezone?"),
        ("[git]\nbranhc = 'main'\n", 2, "did you mean git.branch?"),
        ("format = 1\n[gti]\nbranch = 'main'\n", 3, "did you mean git.branch?"),
        ("format = 1\n[gti]\n", 2, "lists what there is"),
        ("enabled = true\n", 1, "did you mean git.enabled?"),
        ("qqqqqqqq = 1\n", 1, "docs/configuration.md lists what there is"),
    ],
)
def test_unknown_key_opens_the_home_and_is_told_with_its_line_and_the_nearest_name(
    home: Path, text: str, line: int, hint: str
) -> None:
    (told,) = problems(home, text)
    assert told.startswith(f"memfolio.toml, line {line}: unknown key ")
    assert told.endswith(hint)
    assert load(home, text).git == load(home).git


def test_of_many_unknown_keys_the_first_are_told(home: Path) -> None:
    told = problems(home, "".join(f"unheard_of_{number} = 1\n" for number in range(50)))
    assert len(told) == 20


def test_unknown_argument_is_refused(home: Path) -> None:
    assert "did you mean lock_timeout?" in refusal(home, lock_timeot=3)


def test_variable_like_one_of_ours_is_told_and_others_are_not(home: Path) -> None:
    environ = {"MEMFOLIO_TIMEZON": "UTC", "MEMFOLIO_HOME": str(home), "MEMFOLIO_BUILD_NUMBER": "7", "TIMEZONE": "x"}
    assert problems(home, "", environ) == [
        "unknown environment variable 'MEMFOLIO_TIMEZON' | did you mean MEMFOLIO_TIMEZONE?"
    ]


def test_settings_of_earlier_versions_change_nothing_whatever_their_value(home: Path) -> None:
    text = "".join(f"{name} = 'any'\n" for name in sorted(RETIRED))
    environ = {variable_of(name): "any" for name in RETIRED}
    config = load(home, text, environ)
    assert config.problems == ()
    assert set(config.retired) == RETIRED | set(environ)
    assert replace(config, retired=()) == load(home)


def test_settings_that_0_1_had_are_still_known() -> None:
    """So that no home of that version is told of a slip."""
    known = {key.name for key in KEYS} | RETIRED
    assert len(known - {"projects", "recall.fits", "model.turns", "context.broad"}) == 184
    assert not {key.name for key in KEYS} & RETIRED


def test_there_are_at_most_a_hundred_settings() -> None:
    assert len(KEYS) <= 100


def test_what_belongs_to_a_machine_cannot_stand_in_the_file(home: Path) -> None:
    for name in ("machine", "cache", "agent"):
        (told,) = problems(home, f"{name} = 'x'")
        assert f"unknown key '{name}'" in told
        assert f"set MEMFOLIO_{name.upper()} in the environment instead" in told
    assert load(home, "agent = 'x'").agent == "main"


def test_key_of_the_embedding_server_comes_from_the_environment_only(home: Path) -> None:
    assert load(home, "", {"MEMFOLIO_EMBEDDING_KEY": "sk-1"}).embedding.key == "sk-1"
    (told,) = problems(home, "[embedding]\nkey = 'sk-1'")
    assert "unknown key 'embedding.key'" in told
    assert "set MEMFOLIO_EMBEDDING_KEY in the environment" in told
    assert "sk-1" not in told
    assert load(home, "[embedding]\nkey = 'sk-1'").embedding.key == ""


def test_key_of_the_embedding_server_is_never_shown(home: Path) -> None:
    assert "sk-1" not in repr(load(home, "", {"MEMFOLIO_EMBEDDING_KEY": "sk-1"}))
    for wrong in ("sk-1 sk-1", "sk-1\n", "sk-1é"):
        said = refusal(home, "", {"MEMFOLIO_EMBEDDING_KEY": wrong})
        assert "environment variable MEMFOLIO_EMBEDDING_KEY is not usable" in said
        assert "sk-1" not in said


@pytest.mark.parametrize(
    ("provider", "variable"), [("openai", "OPENAI_API_KEY"), ("gemini", "GEMINI_API_KEY"), ("voyage", "VOYAGE_API_KEY")]
)
def test_usual_key_of_a_provider_goes_to_that_provider_only(home: Path, provider: str, variable: str) -> None:
    everybody = {
        "OPENAI_API_KEY": "OPENAI_API_KEY",
        "GEMINI_API_KEY": "GEMINI_API_KEY",
        "VOYAGE_API_KEY": "VOYAGE_API_KEY",
    }
    assert load(home, f"embedding.provider = '{provider}'", everybody).embedding.key == variable
    assert load(home, f"embedding.provider = '{provider}'", {}).embedding.key == ""
    own = everybody | {"MEMFOLIO_EMBEDDING_KEY": "own"}
    assert load(home, f"embedding.provider = '{provider}'", own).embedding.key == "own"
    elsewhere = f"embedding.provider = '{provider}'\nembedding.url = 'https://elsewhere.example'"
    assert load(home, elsewhere, everybody).embedding.key == ""
    for other in ("auto", "http", "local", "none"):
        assert load(home, f"embedding.provider = '{other}'", everybody).embedding.key == ""
    said = refusal(home, f"embedding.provider = '{provider}'", {variable: "sk-1 sk-1"})
    assert f"environment variable {variable} is not usable" in said
    assert "sk-1" not in said


def test_path_of_a_model_may_be_absolute_or_relative_to_the_home_or_the_user(home: Path, tmp_path: Path) -> None:
    def path(text: str) -> Path | None:
        return load(
            home, f"embedding.path = '{text}'", {"HOME": str(tmp_path), "USERPROFILE": str(tmp_path)}
        ).embedding.path

    assert path("") is None
    assert path("models/small") == home / "models" / "small"
    assert path("~/small") == tmp_path / "small"
    assert path(str(tmp_path / "x")) == tmp_path / "x"


def test_section_that_is_not_a_table_is_refused(home: Path) -> None:
    assert "git is 3; wanted a table" in refusal(home, "git = 3")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lock_timeout = 'ten'", "lock_timeout is 'ten'; wanted a number from 0 to 3600"),
        ("lock_timeout = '10'", "wanted a number"),
        ("lock_timeout = nan", "lock_timeout is nan"),
        ("lock_timeout = inf", "lock_timeout is inf"),
        ("lock_timeout = -1", "lock_timeout is -1"),
        ("commit_delay = 61", "commit_delay is 61; wanted a number from 0 to 60"),
        ("max_content_bytes = true", "max_content_bytes is True; wanted a whole number from 1 to 16777216"),
        ("max_content_bytes = 1.5", "max_content_bytes is 1.5"),
        ("max_content_bytes = 0", "max_content_bytes is 0"),
        ("max_content_bytes = 0x" + "f" * 9999, "max_content_bytes is a huge number"),
        ("lock_timeout = 0x" + "f" * 9999, "lock_timeout is a huge number"),
        ("max_ledger_bytes = 4095", "wanted a whole number from 4096"),
        ("learn.idle = 600", "wanted an ISO 8601 duration"),
        ("learn.idle = '10 minutes'", "wanted an ISO 8601 duration from PT0S to P36500D"),
        ("learn.idle = 'P36501D'", "learn.idle is 'P36501D'"),
        ("timezone = 'Europe/Berln'", 'wanted an IANA time zone such as "Europe/Berlin"'),
        ("timezone = '../../etc/passwd'", "wanted an IANA time zone"),
        ("timezone = 'Europe'", "wanted an IANA time zone"),
        ("timezone = ''", "wanted an IANA time zone"),
        ("timezone = 1979-05-27", "wanted an IANA time zone"),
        ("timezone = []", "timezone is a list"),
        ("embedding.provider = 'ollama'", "wanted one of auto, local, openai, gemini, voyage, http, hashed or none"),
        ("embedding.path = 3", "wanted a path, from the home on where it is relative"),
        ('embedding.path = "a\\u0000b"', "wanted a path"),
        ("embedding.dimensions = -1", "wanted a whole number from 0 to 16384"),
        ("backup.keep = 0", "wanted a whole number from 1 to 1000"),
        ("embedding.budget = 9999", "wanted 0, or a whole number from 10000 on"),
        ("embedding.url = 'localhost:11434'", 'wanted an address such as "http://'),
        ("embedding.url = 'file:///etc/passwd'", "wanted an address"),
        ("embedding.url = 'http://'", "wanted an address"),
        ("embedding.url = 'http://user:word@host'", "without user name"),
        ("embedding.url = 'http://host:port'", "wanted an address"),
        ("embedding.url = 'http://host/?a=b'", "without user name, query or fragment"),
        ("embedding.url = 'http://[::1'", "wanted an address"),
        ('embedding.model = "a\\u0000b"', "wanted a name"),
        ("embedding.timeout = 0", "wanted a number from 0.1 to 600"),
        ("[timezone]", "timezone is a table"),
        ("format = 0", "format is 0"),
        ("format = '1'", "format is '1'"),
        ("git.enabled = 1", "git.enabled is 1; wanted true or false"),
        ("git.branch = ''", "git.branch is ''"),
        ("git.branch = '-x'", "git.branch is '-x'"),
        ("git.branch = 'a..b'", "git.branch is 'a..b'"),
        ("git.branch = 'a b'", "git.branch is 'a b'"),
        ("git.branch = 'a.lock'", "git.branch is 'a.lock'"),
    ],
)
def test_wrong_value_says_key_got_and_wanted(home: Path, text: str, said: str) -> None:
    assert said in refusal(home, text)


def test_wrong_variable_is_named(home: Path) -> None:
    said = refusal(home, "", {"MEMFOLIO_LOCK_TIMEOUT": "soon"})
    assert "environment variable MEMFOLIO_LOCK_TIMEOUT is 'soon'; wanted a number from 0 to 3600" in said
    assert "MEMFOLIO_GIT_ENABLED" in refusal(home, "", {"MEMFOLIO_GIT_ENABLED": "maybe"})
    assert "MEMFOLIO_AGENT" in refusal(home, "", {"MEMFOLIO_AGENT": "../x"})
    assert "MEMFOLIO_CACHE" in refusal(home, "", {"MEMFOLIO_CACHE": "a\0b"})


def test_wrong_argument_is_named(home: Path) -> None:
    assert "argument lock_timeout is '3'" in refusal(home, lock_timeout="3")
    assert "argument cache is 3" in refusal(home, cache=3)


def test_agent_that_is_a_path_is_an_agent_id_error(home: Path) -> None:
    with pytest.raises(AgentIdError, match="agent id"):
        load(home, agent="../other")


def test_home_of_a_newer_version_is_not_opened_whatever_else_its_file_says(home: Path) -> None:
    with pytest.raises(HomeFormatError) as caught:
        load(home, f"format = {FORMAT + 1}\nunheard_of = true")
    assert "upgrade" in caught.value.hint


def test_default_home_is_the_variable_else_the_users_folder() -> None:
    assert default_home({"HOME": "/u", "MEMFOLIO_HOME": "~/brain"}) == Path("/u/brain")
    assert default_home({"HOME": "/u", "MEMFOLIO_HOME": ""}) == Path("/u/memfolio")


def test_caches_of_two_homes_differ_and_follow_the_variable(tmp_path: Path) -> None:
    environ = {"MEMFOLIO_CACHE": str(tmp_path / "cache")}
    one, two = (load_config(tmp_path / name, environ=environ) for name in ("a", "b"))
    assert one.cache != two.cache
    assert one.cache.parent == two.cache.parent == tmp_path / "cache"


def test_cache_is_the_same_through_a_link_to_the_home(home: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(home)
    assert load_config(tmp_path / "link", environ={}).cache == load_config(home, environ={}).cache


def test_machine_has_a_name_that_stays() -> None:
    assert machine.machine_id() == machine.machine_id() != ""


def test_local_zone_falls_back_when_tz_names_none() -> None:
    assert machine.local_zone({"TZ": ":Asia/Tokyo"}).key == "Asia/Tokyo"
    assert machine.local_zone({"TZ": "no/such"}) == machine.local_zone({})


def test_every_setting_is_documented_in_one_sentence() -> None:
    assert all(key.doc.endswith(".") and key.doc.count(". ") == 0 for key in KEYS)


def test_sections_are_read_from_file_and_environment(home: Path) -> None:
    config = load(home, "[recall]\nvector = 0.7\ninline = false\n[decay]\nepisodic = 0\n")
    assert (config.recall.vector, config.recall.inline, config.decay.episodic) == (0.7, False, 0)
    assert load_config(home, environ={"MEMFOLIO_CONTEXT_SIMPLE": "500"}).context.simple == 500
    with pytest.raises(ConfigError, match=r"recall\.cut is 2"):
        load(home, "[recall]\ncut = 2\n")


def test_default_file_is_short_and_changes_nothing(home: Path) -> None:
    assert load(home, default_toml()) == load(home, "")
    assert default_toml().count("\n") < 60
    assert max(map(len, default_toml().splitlines())) <= 120


def test_default_file_with_every_comment_removed_still_says_the_defaults(home: Path) -> None:
    lines = default_toml().splitlines()
    assert not any(line.startswith("[") for line in lines)
    text = "\n".join(line.removeprefix("# ") if " = " in line else line for line in lines)
    table = tomllib.loads(text)
    found = [[f"{n}.{inner}" for inner in value] if isinstance(value, dict) else [n] for n, value in table.items()]
    assert {name for group in found for name in group} == SHOWN | {"format"}
    assert load(home, text) == load(home, "")


def test_section_can_be_pasted_below_the_default_file(home: Path) -> None:
    config = load(home, default_toml() + "\n[recall]\ncut = 0.4\n\n[embedding]\ndimensions = 7\n")
    assert (config.recall.cut, config.embedding.dimensions) == (0.4, 7)


def test_one_key_of_the_default_file_can_be_changed_by_removing_its_comment(home: Path) -> None:
    text = default_toml().replace("# tend.hour = 3", "tend.hour = 4")
    assert load(home, text).tend.hour == 4


@pytest.mark.parametrize("first", ["[recall]\nvector = 1.0\n", "recall.vector = 1.0\n"])
def test_section_that_is_there_twice_is_refused(home: Path, first: str) -> None:
    said = refusal(home, f"{first}[git]\nenabled = true\n[recall]\ncut = 0.4\n")
    assert "Cannot declare ('recall',) twice" in said
    assert "a [heading] comes once" in said


@pytest.mark.parametrize(
    "text", ["active = 0.1", "dormant = 0.6", "archived = 0.3", "active = 0.2\ndormant = 0.3\narchived = 0.4"]
)
def test_thresholds_of_fading_out_of_order_are_refused(home: Path, text: str) -> None:
    said = refusal(home, f"[decay]\n{text}\n")
    assert text.partition("\n")[0].replace(" = ", " is " if "active" in text else " ") in said
    assert "none may be above the one before it" in said


def test_thresholds_of_fading_may_be_equal(home: Path) -> None:
    assert load(home, "[decay]\nactive = 0.2\narchived = 0.2\n").decay.active == 0.2


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.dates()
NAMES = st.sampled_from([name for key in KEYS for name in (key.name, key.name[:-1])])
RAW = st.sampled_from(["1", "-1", "true", "1e999", "'UTC'", "'PT1M'", "[]", "{}", "'", "07:32:00", "0x" + "f" * 5000])


@given(st.lists(st.tuples(NAMES, RAW | st.text())).map(lambda rows: "\n".join(f"{n} = {v}" for n, v in rows)))
@example("timezone = " + "[" * 5000)
@example("timezone" + ".a" * 5000 + " = 1")
@example("lock_timeout = " + "9" * 5000)
@example('"\\u0000" = 1')
def test_any_text_gives_a_config_or_a_typed_error(home: Path, text: str) -> None:
    try:
        config = load(home, text.encode("utf-8", "surrogatepass"))
    except (ConfigError, HomeFormatError) as error:
        assert error.hint
    else:
        assert 0 <= config.lock_timeout <= 3600


@given(st.binary())
def test_any_bytes_give_a_config_or_a_typed_error(home: Path, data: bytes) -> None:
    try:
        load(home, data)
    except MemfolioError as error:
        assert error.hint


@given(st.dictionaries(st.sampled_from([key.variable for key in KEYS]), st.text()))
def test_any_environment_gives_a_config_or_a_typed_error(home: Path, environ: dict[str, str]) -> None:
    try:
        load(home, "", environ)
    except ConfigError as error:
        assert "MEMFOLIO_" in error.message


@given(st.dictionaries(st.sampled_from([key.field for key in KEYS]) | st.text(), SCALARS))
def test_any_arguments_give_a_config_or_a_typed_error(home: Path, overrides: dict[str, object]) -> None:
    try:
        load_config(home, environ={}, overrides=overrides)
    except (ConfigError, AgentIdError) as error:
        assert "argument" in error.message


@pytest.mark.parametrize("key", ["embedding.url", "model.url"])
def test_password_in_an_address_is_never_shown(home: Path, key: str) -> None:
    assert "hunter2" not in refusal(home, f'{key} = "https://user:hunter2@example.org/v1"\n')


@pytest.mark.parametrize("text", ['[redact]\npersonl = ["email"]\n', '[policy]\nprest = "strict"\n'])
def test_a_slip_that_would_leave_a_home_unprotected_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "memfolio.toml").write_text(text)
    with pytest.raises(ConfigError, match="unknown key"):
        load_config(tmp_path)
