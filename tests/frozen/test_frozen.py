"""What programs rely on stays as it is, unless somebody changes it on purpose."""

from __future__ import annotations

import json

import pytest

from tests.frozen.life import UNHEARD
from tests.frozen.snapshots import SNAPSHOTS, differences, kept, path_of, plain, text_of

RENEW = "If this is meant, tell it in CHANGELOG.md, run `python -m tools.freeze` and commit the difference."


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_nothing_that_programs_rely_on_changes_by_the_way(name: str) -> None:
    changed = [*differences(kept(name), plain(SNAPSHOTS[name]()))]
    assert not changed, "\n".join([f"{len(changed)} entries of {name} differ from {path_of(name)}:", *changed, RENEW])


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_snapshots_are_written_as_the_command_writes_them(name: str) -> None:
    assert path_of(name).read_text(encoding="utf-8") == text_of(kept(name)) + "\n", RENEW


def test_answer_of_every_command_is_kept_or_said_not_to_be() -> None:
    commands = {name.removeprefix("memfolio ") for name in kept("commands")} - {"memfolio"}
    heard = {name.partition(" → ")[0] for name in kept("answers")}
    assert (heard & UNHEARD, heard | UNHEARD) == (set(), commands)


def test_what_differs_is_named_by_its_place() -> None:
    before = {"a": {"b": 1, "c": [1, 2]}, "d": ["x", "y"]}
    assert [*differences(before, json.loads(json.dumps(before)))] == []
    assert [*differences(before, {"a": {"b": 2, "c": [1, 3]}, "e": 0, "d": ["y", "x"]})] == [
        *("- a › b: 1", "+ a › b: 2", "- a › c: 2", "+ a › c: 3"),
        *('- d: ["x", "y"]', '+ d: ["y", "x"]', "+ e: 0"),
    ]
