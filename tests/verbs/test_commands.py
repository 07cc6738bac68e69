"""Commands are made of signatures and two tables of words, which fit each other; listing them loads nothing."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib import import_module

import pytest

from memfolio.memory import Memory
from memfolio.rooms import method_named
from memfolio.serve.cli.derive import below, command, listed, parameters_of, rows, with_verb
from memfolio.verbs.verb import verbs_at

PATHS = [path for name in listed() for path in below(name) or [name]]
WORDS = {
    "help",
    "examples",
    "does",
    "takes",
    "fixed",
    "picks",
    "show",
    "key",
    "makes_home",
    "problems",
    "fields",
    "prints",
    "diff",
}
WORDS |= {"verb", "shows", "fails", "paged", "each", "table", "lines", "done", "would", "none"}


def test_every_row_is_a_command() -> None:
    assert set(rows()) - {"arguments"} == set(PATHS)


@pytest.mark.parametrize("path", PATHS)
def test_a_command_says_what_each_of_its_arguments_means(path: str) -> None:
    params = {each.name: each for each in command(path).params}
    assert set(rows()[path]) - WORDS <= set(params), "words about an argument that it does not have"
    assert rows()[path]["examples"]
    silent = [name for name, each in params.items() if not getattr(each, "help", "")]
    # What is said, of whom and of what, says itself in `fact assert` and `infer backward`.
    assert set(silent) <= {"subject", "predicate", "object"}


def test_every_argument_that_is_told_once_is_an_argument_of_several_commands() -> None:
    taken = [each.name for path in PATHS for each in command(path).params]
    assert [name for name in rows()["arguments"] if taken.count(name) < 2] == []


@pytest.mark.parametrize("args", [["--help"], ["fact", "--help"], ["recall", "--help"], ["mind", "show", "--help"]])
def test_help_loads_no_room(args: list[str]) -> None:
    rooms = ("memory", "knowledge", "graph", "govern", "verbs.knowing")
    code = (
        "import sys; from memfolio.serve.cli.app import run\n"
        f"assert run({args!r}) == 0\n"
        f"print([each for each in {rooms!r} if f'memfolio.{{each}}' in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == "[]\n"


@pytest.mark.parametrize("path", sorted({does for row in map(with_verb, rows().values()) if (does := row.get("does"))}))
def test_what_a_method_takes_is_read_from_its_source(path: str) -> None:
    module, _, name = path.rpartition(":")
    function = getattr(import_module(f"memfolio.verbs.{module}"), name) if module else method_named(Memory, path)
    loaded = {
        name: each for name, each in inspect.signature(function).parameters.items() if name not in ("self", "memory")
    }
    read = parameters_of(path)
    assert [(name, each.kind, each.annotation) for name, each in read.items()] == [
        (name, each.kind, each.annotation) for name, each in loaded.items()
    ]
    literal = {name: each.default for name, each in read.items() if each.default not in (None, each.empty)}
    assert {name: loaded[name].default for name in literal} == literal


def test_a_verb_below_a_group_is_found_by_its_name() -> None:
    assert "fact_infer" in verbs_at("cli")
    assert "fact infer" not in rows()
    code = "from memfolio.serve.cli.app import run; raise SystemExit(run(['fact', 'infer', '--help']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert "Guess what might follow from a premise" in done.stdout
