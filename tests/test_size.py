"""The weight of the code stays within its limits, and the measure can see it grow."""

from __future__ import annotations

import ast

from tools.size import code_characters, limits, measure, overgrown
from tools.trace import traced


def test_the_code_weighs_no_more_than_its_limits() -> None:
    assert list(overgrown(measure())) == []


def test_a_figure_over_its_limit_is_named() -> None:
    measured = dict(limits()) | {"files": limits()["files"] + 1}
    assert [line.split()[0] for line in overgrown(measured)] == ["files"]


def test_comments_docstrings_and_blanks_weigh_nothing() -> None:
    bare = "def f(a):\n    return a\n\nX = 1\n"
    told = (
        '"""A module."""\n\n# why\ndef f(a):\n    """What for."""\n    return a  # so\n\n\nX = 1\n"""What it is."""\n'
    )
    assert code_characters(told, ast.parse(told)) == code_characters(bare, ast.parse(bare)) == 18


def test_a_trace_sees_the_files_that_a_call_runs_through() -> None:
    from memfolio.text import counted

    assert set(traced(lambda: counted(2, "memory", "memories"))) == {"text.py"}
