"""Decision trees: the way that answers take, and trees that make no sense."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from memfolio.procedures.page import Branch, decide, read_tree, tree_lines

TREE = """\
Is it urgent?
- Yes: Is somebody blocked?
  - yes: Call them
  - no -> Write a mail
- no → How many people wait?
  - < 10: Put it into the list
  - 10-20: Meet
  - over 20:
    - Is there budget?
      - true: Hire
      - else: Wait
"""


def tree(text: str = TREE) -> Branch:
    found, problems = read_tree(enumerate(text.splitlines()))
    assert found
    assert not problems
    return found


@pytest.mark.parametrize(
    ("answers", "conclusion"),
    [
        (["yes", "no"], "Write a mail"),
        ([True, True], "Call them"),
        (["NO", 9], "Put it into the list"),
        (["n", "20"], "Meet"),
        (["false", 21, "y"], "Hire"),
        (["false", 21, "perhaps"], "Wait"),
        ({"is it urgent": "no", "How many people wait?": 15}, "Meet"),
        ({"IS IT URGENT?": "yes", "is somebody blocked?": "no", "other": 1}, "Write a mail"),
    ],
)
def test_answers_lead_to_a_conclusion(answers: Sequence[Any] | Mapping[str, Any], conclusion: str) -> None:
    found = decide(tree(), answers)
    assert (found.conclusion, found.question, found.unfit) == (conclusion, None, None)


def test_path_tells_each_question_and_its_answer() -> None:
    found = decide(tree(), ["no", 15])
    assert [(each.question, each.given, each.answer) for each in found.path] == [
        ("Is it urgent?", "no", "no"),
        ("How many people wait?", "15", "10-20"),
    ]


def test_missing_answer_is_asked_for() -> None:
    found = decide(tree(), ["no"])
    assert (found.conclusion, found.question) == (None, "How many people wait?")
    assert found.answers == ("< 10", "10-20", "over 20")


def test_answer_that_fits_nothing_says_what_would() -> None:
    found = decide(tree(), ["perhaps"])
    assert (found.question, found.answers, found.path) == ("Is it urgent?", ("Yes", "no"), ())
    assert found.unfit == "'perhaps' is none of Yes, no"
    assert decide(tree(), ["no", "many"]).unfit == "'many' is none of < 10, 10-20, over 20"


def test_tree_is_written_as_it_is_read() -> None:
    assert tree("\n".join(tree_lines(tree()))) == tree()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Ready?\n- yes: Go\n- no:", "line 3: 'an answer' leads nowhere"),
        ("Ready?\n- yes: Are you sure?\n- no: Wait", "line 2: 'Are you sure?' leads nowhere"),
        ("Ready?\n- yes: Go\n- yes: Stop", "line 3: 'yes: Stop' stands there twice"),
        ("Ready?\n- yes: Go\n- perhaps", "line 3: 'perhaps' is no answer"),
        ("- yes: Go\n- no: Stop", "line 1: the answers have no question"),
        ("\n".join(f"{'  ' * at}- a: x?" for at in range(60)), "more than 50 questions"),
    ],
)
def test_tree_that_makes_no_sense_is_reported(text: str, problem: str) -> None:
    _, problems = read_tree(enumerate(text.splitlines()))
    assert any(problem in each for each in problems), problems
