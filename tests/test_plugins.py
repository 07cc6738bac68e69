"""The packages for hosts are up to date, in the form that each host reads, and call commands that are there."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator, ValidationError  # type: ignore[import-untyped]

from memfolio import __version__
from memfolio.serve.hooks.door import ACTS
from memfolio.serve.install.hosts import HOSTS, Program
from memfolio.verbs.verb import tools_of
from tools import plugins

SCHEMAS = json.loads(Path(__file__).with_name("host_schemas.json").read_text(encoding="utf-8"))
"""What each host accepts, closed: a key that a host does not know is a mistake here."""
JSON_FILES = [name for name in plugins.packages() if name.endswith(".json")]
SKILLS = [name for name in plugins.packages() if name.endswith("SKILL.md")]


def there() -> dict[str, str]:
    files = (path for path in plugins.FOLDER.rglob("*") if path.is_file())
    return {path.relative_to(plugins.FOLDER).as_posix(): path.read_text(encoding="utf-8") for path in files}


def test_packages_are_up_to_date() -> None:
    assert there() == plugins.packages(), "run python -m tools.plugins"


def test_registry_is_told_the_version_of_the_package() -> None:
    assert plugins.SERVER.read_text(encoding="utf-8") == plugins.server(), "run python -m tools.plugins"
    assert plugins.server().count(f'"version": "{__version__}"') == 2


def test_writing_them_again_clears_away_what_is_old(tmp_path: Path) -> None:
    (tmp_path / "plugins/codex").mkdir(parents=True)
    (tmp_path / "plugins/codex/old.json").write_text("{}")
    plugins.write(tmp_path / "plugins")
    found = {path.relative_to(tmp_path / "plugins").as_posix() for path in (tmp_path / "plugins").rglob("*.*")}
    assert set(plugins.packages()) <= found
    assert "codex/old.json" not in found


@pytest.mark.parametrize("name", JSON_FILES)
def test_every_file_has_the_form_of_its_host(name: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[name])
    Draft202012Validator(SCHEMAS[name]).validate(json.loads(there()[name]))


@pytest.mark.parametrize("name", JSON_FILES)
def test_a_form_refuses_what_its_host_does_not_know(name: str) -> None:
    with pytest.raises(ValidationError):
        Draft202012Validator(SCHEMAS[name]).validate(json.loads(there()[name]) | {"unheard": 1})


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("claude-code", "claude-code/hooks/hooks.json"),
        ("codex", "codex/hooks/hooks.json"),
        ("gemini", "gemini/hooks/hooks.json"),
        ("cursor", "cursor/.cursor/hooks.json"),
    ],
)
def test_hooks_call_the_command_with_every_event(host: str, name: str) -> None:
    document = json.loads(there()[name])
    commands = re.findall(r'"command": "([^"]+)"', json.dumps(document))
    assert sorted(map(shlex.split, commands)) == sorted(["memfolio", "hook", host, event] for event in ACTS[host])
    installed = HOSTS[host].hooks_of(Program(path="/opt/memfolio", options=("--home", "/a b")))
    Draft202012Validator(SCHEMAS[name]).validate(installed)


def test_gemini_is_not_kept_waiting_before_each_call_of_a_model() -> None:
    """It announces a compression of kind `auto` every time, awaits the hook, and then mostly compresses nothing."""
    package = json.loads(there()["gemini/hooks/hooks.json"])
    for hooks in (package["hooks"], HOSTS["gemini"].hooks_of(Program())["hooks"]):
        assert [group.get("matcher") for group in hooks["PreCompress"]] == ["manual"]
        assert not any("matcher" in group for name in hooks if name != "PreCompress" for group in hooks[name])


def test_paths_in_the_manifest_of_codex_lead_to_files() -> None:
    manifest = json.loads(there()["codex/.codex-plugin/plugin.json"])
    for part in ("skills", "mcpServers", "hooks"):
        assert (plugins.FOLDER / "codex" / manifest[part]).exists()


@pytest.mark.parametrize("name", SKILLS)
def test_skill_keeps_to_the_limits_and_names_tools_that_there_are(name: str) -> None:
    text = there()[name]
    front, body = text.removeprefix("---\n").split("\n---\n", 1)
    fields = dict(line.split(": ", 1) for line in front.splitlines())
    assert fields["name"] == Path(name).parent.name
    assert re.fullmatch("[a-z0-9-]{1,64}", fields["name"])
    assert 0 < len(fields["description"]) <= 1024
    assert len(body.splitlines()) < 500
    called = set(re.findall(r"[Cc]all `(\w+)`", body))
    assert {"recall", "remember", "checkpoint", "explain", "propose"} <= called <= set(tools_of("core"))


def test_no_package_knows_this_machine_or_offers_a_tool_that_another_shadows() -> None:
    whole = "\n".join(there().values())
    assert str(plugins.ROOT) not in whole
    assert "memory_search" not in whole
    assert "memory_get" not in whole
