"""The procedures of an agent: made, changed, retired and found, by hand and by the verbs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memfolio.errors import InputError, NotFoundError
from memfolio.memory import Memory
from memfolio.procedures.page import ProcedureForm, Step
from memfolio.procedures.procedures import Procedures
from memfolio.types import HUMAN

FOLDER = "agents/main/memory/procedures"


@pytest.fixture
def procedures(memory: Memory) -> Procedures:
    return Procedures(memory.vault, memory.searcher, memory.agent)


def by_hand(memory: Memory, name: str, text: str) -> Path:
    path = memory.vault.home.root / FOLDER / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    memory.sync()
    return path


def test_procedure_is_made_and_found(procedures: Procedures, memory: Memory) -> None:
    step = "Tell them\n- action: notify(channel=dev)\n- on error: retry 2, then skip"
    made = procedures.add(
        "How to deploy!", steps=["Run the tests", step], triggers=["deploy, ship"], errors={"Rate limit": "wait"}
    )
    assert (made.name, made.form, made.problems) == ("how-to-deploy", ProcedureForm.SKILL, ())
    assert made.steps[1] == Step(
        number=2,
        text="Tell them",
        action="notify",
        arguments={"channel": "dev"},
        retries=2,
        on_error=made.steps[1].on_error,
    )
    assert procedures.get("How to Deploy!") == procedures.get("how-to-deploy") == made
    assert [each.procedure.name for each in procedures.match("shipping it")] == ["how-to-deploy"]
    assert [each.memory.source for each in memory.recall("notify them")] == ["procedure"]


def test_names_are_unique_and_safe(procedures: Procedures) -> None:
    titles = ["Deploy", "deploy", "../../etc/passwd", "con", "☃", "Straße é/x"]
    names = [procedures.add(title, steps="a\nb").name for title in titles]
    assert names[:4] == ["deploy", "deploy-2", "etc-passwd", "to-con"]
    assert len(procedures.list()) == len(set(names)) == 6
    assert all(each.path == f"{FOLDER}/{each.name}.md" for each in procedures.list())


def test_dry_run_writes_nothing(procedures: Procedures) -> None:
    assert procedures.add("Deploy", steps=["a"], dry_run=True).name == "deploy"
    assert procedures.list() == []
    made = procedures.add("Deploy", steps=["a"])
    assert procedures.update("deploy", steps=["b"], reason="r", dry_run=True).version == "1.1"
    assert procedures.retire("deploy", "old", dry_run=True).is_retired
    assert procedures.get("deploy") == made


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"title": " ", "steps": ["a"]}, "needs a title"),
        ({"title": "a" * 300}, "needs a title"),
        ({"title": "Deploy", "form": "spell"}, "unknown form"),
        ({"title": "Deploy"}, "no steps, and no tree"),
        ({"title": "Skill: Deploy", "steps": ["a"]}, "the title cannot be written like this"),
        ({"title": "Deploy", "colour": "red"}, "no 'colour'"),
        ({"title": "Deploy", "triggers": [1]}, "triggers"),
        ({"title": "Deploy", "steps": ["a\n- timeout: soon"]}, "not a duration"),
        ({"title": "Deploy", "steps": [" "]}, "no words"),
        ({"title": "Deploy", "steps": [Step(number=1, text="a\n- action: wipe")]}, "cannot be written like this"),
        ({"title": "Deploy", "tree": "Ready?\n- yes:"}, "leads nowhere"),
        ({"title": "Deploy", "timeout": "late"}, "not a duration"),
    ],
)
def test_what_makes_no_sense_is_refused(procedures: Procedures, given: dict[str, Any], wrong: str) -> None:
    with pytest.raises(InputError, match=wrong):
        procedures.add(**given)
    assert procedures.list() == []


def test_update_says_what_was_changed_and_why(procedures: Procedures) -> None:
    procedures.add("Deploy", steps=["Run the tests", "Push"])
    made = procedures.update("deploy", steps=["Push"], reason="CI runs\nthe tests", kind="optimization", by=HUMAN)
    assert (made.version, [step.text for step in made.steps]) == ("1.1", ["Push"])
    [line] = made.history
    assert (line.at, line.version, line.kind, line.text) == ("2026-11-15", "1.1", "optimization", "CI runs the tests")
    assert procedures.update("deploy", steps=["Push"], reason="again") == made
    with pytest.raises(InputError, match="unknown kind"):
        procedures.update("deploy", steps=["a"], reason="r", kind="whim")
    with pytest.raises(InputError, match="nothing is to be changed"):
        procedures.update("deploy", reason="r")


def test_retired_procedure_is_out_of_use_until_restored(procedures: Procedures) -> None:
    procedures.add("Deploy", steps=["Push"], triggers=["deploy"])
    assert procedures.retire("deploy", "a pipeline does it").history[-1].kind == "retired"
    assert (procedures.list(), procedures.match("deploy")) == ([], [])
    assert [each.name for each in procedures.list(retired=True)] == ["deploy"]
    assert procedures.retire("deploy", "again").history == procedures.get("deploy").history
    assert procedures.restore("deploy").is_retired is False
    assert procedures.list() == [procedures.get("deploy")]


def test_page_of_a_person_keeps_its_bytes(procedures: Procedures, memory: Memory) -> None:
    text = "#  Ship it\r\n\r\nOur  way.\r\n\r\n## Steps\r\n1) Push\r\n   * twice\r\n\r\n## Misc\r\nx \xff\r\n"
    path = by_hand(memory, "ship", text)
    path.write_bytes(text.encode("latin-1"))
    memory.sync()
    procedures.retire("Ship it", "old")
    after = path.read_bytes()
    assert after.startswith(b"---\r\nstatus: retired\r\n---\r\n" + text.encode("latin-1"))
    assert after.endswith(b"## History\r\n- 2026-11-15 \xc2\xb7 1.0 \xc2\xb7 retired \xc2\xb7 old\r\n")


def test_problems_name_page_and_line(procedures: Procedures, memory: Memory) -> None:
    by_hand(memory, "broken", "# Broken\n\n## Trigger\n- daily at 25:00\n\n## Steps\n1. a\n   - action: fly\n1. b\n")
    procedures.add("Fine", steps=["a\n- action: walk"])
    broken = f"{FOLDER}/broken.md"
    assert procedures.problems() == [
        f"{broken}: line 9: the step is numbered 1, not 2",
        f"{broken}: the trigger 'daily at 25:00': there is no time 25:00",
    ]
    procedures.register("walk", lambda: None)
    assert f"{broken}: step 1 names the action 'fly', which nobody registered" in procedures.problems()
    assert len(procedures.get("broken").steps) == 2


def test_only_functions_are_registered(procedures: Procedures) -> None:
    procedures.register("tell.all", print)
    assert procedures.actions == {"tell.all": print}
    for name, function in (("a b", print), ("", print), ("x", "os.system")):
        with pytest.raises(InputError):
            procedures.register(name, function)  # type: ignore[arg-type]


def test_tree_is_decided_by_name(procedures: Procedures) -> None:
    procedures.add("Which way", form="decision", tree="Urgent?\n- yes: Call\n- no: Write")
    procedures.add("Deploy", steps=["Push"])
    assert procedures.decide("which-way", ["yes"]).conclusion == "Call"
    assert procedures.decide("Which way").question == "Urgent?"
    with pytest.raises(InputError, match="no decision tree"):
        procedures.decide("deploy")
    with pytest.raises(NotFoundError) as missing:
        procedures.get("deplay")
    assert missing.value.hint == "did you mean deploy? known are deploy, which-way"


def test_due_by_the_clock_of_the_home(procedures: Procedures) -> None:
    procedures.add("Rotate logs", steps=["Move them"], triggers=["daily at 14:00"])
    procedures.add("Sleep", steps=["Lie down"], triggers=["daily at 23:00"])
    assert [each.procedure.name for each in procedures.due()] == ["rotate-logs"]
