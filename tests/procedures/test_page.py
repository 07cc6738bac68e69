"""Pages of procedures: what they say, what is wrong with them, and that an edit leaves all other bytes alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from difflib import ndiff
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memfolio.procedures.page import (
    Branch,
    OnError,
    Procedure,
    ProcedureForm,
    ProcedurePage,
    Refinement,
    Step,
    read,
    render,
)

PATH = "agents/main/memory/procedures/how-to-deploy.md"
DEPLOY = """\
# how-to-deploy.md

<!-- Type: procedure | Learned: 2026-01-25 | Last used: 2026-01-30 -->
<!-- Decay score: 0.85 | Access count: 3 -->

## Trigger
When user asks to deploy, push to production, or ship.

## Steps
1. Run test suite first (user insists on this)
2. Check for uncommitted changes
3. Use `git tag` for versioning (not just branch)

## Notes
- User prefers verbose deploy logs
*  Always confirm before prod deploy (never auto-deploy)

## Learned From
- Episode 2026-01-25 14:30 — first deployment discussion
"""
GMAIL = """\
#### Skill: Process Gmail Inbox

**Version**: 1.2
**Success Rate**: 94% (last 100 executions)

**Trigger**: 06:00 daily

**Procedure**:

1. **Authenticate**
   ```python
   # Check OAuth token validity
   1. no step
   ```

2. **Classify**
   - Important: From known contacts
   - Spam: confidence > 0.9

**Error Handling**:
- Rate limit: Exponential backoff (1s, 2s, 4s)
- Timeout: Retry once, then queue

**Optimization Notes**:
- Batch size increased

---

#### Skill: Handle Incoming Twilio Call
1. **Answer Call**
"""


def test_page_with_comments_is_read() -> None:
    found = read(PATH, DEPLOY)
    assert (found.name, found.title, found.form, found.version) == (
        "how-to-deploy",
        "how-to-deploy",
        ProcedureForm.SKILL,
        "1.0",
    )
    assert found.triggers == ("When user asks to deploy, push to production, or ship.",)
    assert [step.text for step in found.steps][2] == "Use `git tag` for versioning (not just branch)"
    assert found.notes[1] == "Always confirm before prod deploy (never auto-deploy)"
    assert found.learned_from == ("Episode 2026-01-25 14:30 — first deployment discussion",)
    assert not found.problems


def test_page_with_bold_sections_is_read() -> None:
    found = read("a/gmail.md", GMAIL)
    assert (found.title, found.version, found.triggers) == ("Process Gmail Inbox", "1.2", ("06:00 daily",))
    code = "Authenticate\n```python\n# Check OAuth token validity\n1. no step\n```"
    classify = "Classify\n- Important: From known contacts\n- Spam: confidence > 0.9"
    assert [step.text for step in found.steps] == [code, classify]
    assert found.errors["Rate limit"] == "Exponential backoff (1s, 2s, 4s)"
    assert (found.notes, found.description) == (("Batch size increased",), "")
    assert found.problems == ("line 29: 'Handle Incoming Twilio Call' begins here; a page holds one procedure",)


def test_fields_of_steps_are_read() -> None:
    [step] = read(
        PATH,
        """---
type: workflow
version: 2.3
status: deprecated
timeout: 1h
---
# Ship
It goes out,
all of it.

## Steps
1. Tell them
   - **Action**: notify(channel="#dev, all", text=done)
   - if: urgent is yes
   - expect: an answer
   - timeout: 90 seconds
   - On error: retry 3 times, then fallback: write a mail
   - undo: take_back
   - repeat: no
   - by hand: else
""",
    ).steps
    arguments = {"channel": "#dev, all", "text": "done"}
    assert step == Step(
        number=1,
        text="Tell them\n- by hand: else",
        action="notify",
        arguments=arguments,
        condition="urgent is yes",
        expect="an answer",
        timeout=timedelta(seconds=90),
        retries=3,
        on_error=OnError.FALLBACK,
        fallback="write a mail",
        undo="take_back",
        repeatable=False,
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1. a\n3. b", "line 5: the step is numbered 3, not 2"),
        ("- a\n- b", "line 4: the step has no number: it is 1"),
        ("1. a\n   - timeout: soon", "line 5: 'SOON' is not a duration"),
        ("1. a\n   - timeout: 0s", "line 5: 'PT0S' is no time at all"),
        (f"1. a\n   - timeout: {'9' * 400}d", "line 5: "),
        ("1. a\n   - if: a is", "line 5: the condition 'a is': a value is missing"),
        ("1. a\n   - action: rm -rf /", "line 5: 'rm -rf /' is no action"),
        ("1. a\n   - action: f(1)", "line 5: the arguments '1': key=value is missing before '1'"),
        ("1. a\n   - on error: panic", "line 5: 'panic' is nothing to do about an error"),
        ("1. a\n   - on error: fallback:", "line 5: 'fallback:' is nothing to do about an error"),
        ("1. a\n   - repeat: perhaps", "line 5: repeat is 'perhaps', not yes or no"),
        ("1. a\n   - undo:", "line 5: undo says nothing"),
        ("1. a\n   - action: f\n   - on error: fallback: f", "line 4: the fallback of step 1 leads back to it"),
        ("1.\n2. b", "line 4: the step has no words"),
        ("", "there are no steps, and no tree"),
        ("1. a\n## Tree\nReady?\n- yes:", "line 7: 'an answer' leads nowhere"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text: str, problem: str) -> None:
    found = read(PATH, f"# T\n\n## Steps\n{text}\n\n## Notes\n- kept\n")
    assert any(each.startswith(problem) or problem in each for each in found.problems), found.problems
    assert found.notes == ("kept",)


def test_unknown_fields_of_a_page_are_problems() -> None:
    found = read(PATH, "---\ntype: spell\nstatus: gone\nversion: a b c\ntimeout: late\n---\n# T\n## Steps\n1. a\n")
    assert [each[:6] for each in found.problems] == ["line 2", "line 3", "line 4", "line 5"]
    assert len(found.steps) == 1


def test_first_of_two_fields_counts_and_is_the_one_that_is_edited() -> None:
    page = ProcedurePage(PATH, "---\nstatus: active\nstatus: retired\n---\n# T\n## Steps\n1. a\n")
    assert page.procedure.problems == ("line 3: the status stands there twice; the first counts",)
    after = replace(page.procedure, is_retired=True)
    assert read(PATH, page.editing(after)) == after


def test_mark_of_the_byte_order_is_no_part_of_the_title_and_stays_in_front() -> None:
    page = ProcedurePage(PATH, "\ufeff# T\n## Steps\n1. a\n")
    assert page.procedure.title == "T"
    assert page.editing(replace(page.procedure, is_retired=True)).startswith("\ufeff---\nstatus: retired\n---\n# T")


LINE = st.text(alphabet='abcé1-:#`\\"(=,.|> ', max_size=12).map(lambda text: " ".join(f"a{text}b".split()))
PLAIN = st.text(alphabet="abcé 1", max_size=8).map(lambda text: " ".join(f"x{text}".split()))
LINES = st.lists(LINE, max_size=3).map(tuple)
BODY = st.lists(st.one_of(LINE, st.just("- by hand: x"), st.just("1. a"), st.just("# b")), max_size=2)
FALLBACK: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.just({}),
    st.just({"on_error": OnError.SKIP}),
    LINE.map(lambda text: {"on_error": OnError.FALLBACK, "fallback": f"do {text}"}),
)


def step_of(first: str, body: list[str], fields: dict[str, Any], failing: dict[str, Any]) -> Step:
    return Step(number=0, text="\n".join([first, *body]), **fields, **failing)


STEPS = st.builds(
    step_of,
    LINE,
    BODY,
    st.fixed_dictionaries(
        {},
        optional={
            "action": st.just("tell.all"),
            "condition": st.just("a is b"),
            "expect": LINE,
            "timeout": st.integers(1, 10**6).map(lambda seconds: timedelta(seconds=seconds)),
            "retries": st.integers(0, 9),
            "undo": LINE,
            "repeatable": st.booleans(),
        },
    ),
    FALLBACK,
).flatmap(
    lambda step: st.dictionaries(st.sampled_from("xy"), st.text(alphabet='ab ,"\\=)', max_size=6)).map(
        lambda given: replace(step, arguments=given if step.action else {})
    )
)
LEAF = PLAIN.map(lambda text: Branch(text=f"do {text}"))


def asking(below: st.SearchStrategy[Branch]) -> st.SearchStrategy[Branch]:
    answers = st.dictionaries(PLAIN, below, min_size=1, max_size=3)
    return st.builds(lambda text, answers: Branch(text=f"is {text}?", answers=answers), PLAIN, answers)


TREES = asking(st.recursive(LEAF, asking, max_leaves=6))
REFINED = st.builds(
    Refinement, at=st.just("2026-11-15"), version=st.just("1.1"), kind=st.sampled_from(["bugfix", "learned"]), text=LINE
)


@st.composite
def procedures(draw: st.DrawFn) -> Procedure:
    steps = draw(st.lists(STEPS, min_size=1, max_size=3))
    return Procedure(
        name="how-to-deploy",
        path=PATH,
        title=draw(LINE),
        form=draw(st.sampled_from(ProcedureForm)),
        version=draw(st.sampled_from(["1.0", "2.13"])),
        is_retired=draw(st.booleans()),
        description=draw(st.one_of(st.just(""), LINE)),
        triggers=draw(LINES),
        preconditions=draw(LINES),
        postconditions=draw(LINES),
        notes=draw(LINES),
        learned_from=draw(LINES),
        steps=tuple(replace(step, number=at) for at, step in enumerate(steps, 1)),
        tree=draw(st.one_of(st.none(), TREES)),
        errors=draw(st.dictionaries(PLAIN, LINE, max_size=2)),
        history=draw(st.lists(REFINED, max_size=2).map(tuple)),
        timeout=draw(st.one_of(st.none(), st.just(timedelta(hours=1)))),
    )


@settings(max_examples=50)
@given(procedures())
def test_page_says_what_it_was_made_of(procedure: Procedure) -> None:
    assert read(PATH, render(procedure)) == procedure


@settings(max_examples=50)
@given(procedures(), procedures())
def test_edited_page_says_what_it_should(before: Procedure, after: Procedure) -> None:
    assert read(PATH, ProcedurePage(PATH, render(before)).editing(after)) == after


@given(st.text(alphabet="ab#-*: \n1.`<!>|", max_size=200))
def test_any_text_is_read_and_stays_as_it_is(text: str) -> None:
    page = ProcedurePage(PATH, text)
    assert page.editing(page.procedure) == text


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("text", [DEPLOY, GMAIL])
def test_edit_touches_only_its_own_lines(text: str, end: str) -> None:
    text = text.replace("\n", end)
    page = ProcedurePage(PATH, text)
    before = page.procedure
    note = Refinement(at="2026-11-15", version="1.3", kind="bugfix", text="why")
    first, *others = before.steps
    steps = (first, Step(number=2, text="Look twice"), *(replace(each, number=each.number + 1) for each in others))
    after = replace(before, version="1.3", is_retired=True, history=(note,), steps=steps)
    lines = [*ndiff(text.splitlines(keepends=True), page.editing(after).splitlines(keepends=True))]
    gone = [line[2:].strip() for line in lines if line.startswith("- ")]
    allowed = {"**Version**: 1.2", *(f"{step.number}. {step.text.split(chr(10))[0]}" for step in others)}
    assert {line.replace("**Classify**", "Classify") for line in gone} <= allowed
    assert all(line.endswith(end) for line in lines if line[:1] in "+ ")
    assert replace(read(PATH, page.editing(after)), problems=()) == replace(after, problems=())
