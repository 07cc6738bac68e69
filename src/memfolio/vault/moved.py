"""Telling what a git command did to a file from what a person did to it. Pure, but for the alerts.

A command that moves the working tree (checkout, reset, stash, restore, clean, rebase) leaves a file as the commit that
is checked out has it, or as the index has it, though we have written something newer: nobody means that as an edit. A
person who commits on top of our newest commit does. All else is an edit that was made without git.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from memfolio.types import Action, Approval, Attribution
from memfolio.vault.alerts import open_alerts
from memfolio.vault.books import Books

if TYPE_CHECKING:
    from memfolio.vault.git.history import Standing

RETURNED = Attribution(actor="system:recover", approval=Approval.AUTO, trigger="git-moved")
MOVED = Attribution(actor="system:audit", approval=Approval.NONE, trigger="git-moved")
REMOVED = Attribution(actor="system:audit", approval=Approval.NONE, trigger="git-commit")
NOTICE = (
    "a git command had taken changes out of the files, or out of the branch: they were put back; "
    "`memfolio undo` and `memfolio rollback` take changes back for good"
)


class Move(StrEnum):
    """How git came to change a file."""

    TREE = "tree"
    COMMIT = "commit"


def judge(standing: Standing, content: bytes | None, is_former: Callable[[bytes], bool]) -> Move | None:
    """How git made a file what it is, None when somebody else did; `is_former` knows the states that we recorded."""
    blob = None if content is None else blob_id(content)
    if standing.is_built_on and standing.head not in (standing.ours, standing.indexed) and blob == standing.head:
        return Move.COMMIT  # a commit made from an index that was behind does not mean what it leaves out
    if standing.sides:  # a merge of what we recorded anyway, such as `git stash pop` makes it
        return Move.TREE if content is not None and all(map(is_former, standing.sides)) else None
    if content is None:
        # `git rm` takes a file out of the index, as a person's work; `git clean` deletes what is not in it yet.
        is_removed = standing.head is not None and standing.indexed is not None
        return Move.TREE if standing.staged is None and not is_removed else None
    if blob == standing.head or (blob == standing.staged and is_former(content)):
        return Move.TREE
    return None


def blob_id(content: bytes) -> str:
    """The name that git has for a content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def tell_moved(books: Books, about: Sequence[int]) -> None:
    """Alert the owner of what was put back, unless an alert of that kind stands anyway."""
    if not any(line.by == MOVED for line in open_alerts(books.trail)):
        books.enter(Action.ALERT, MOVED, about=about)
    if NOTICE not in books.notices:
        books.notices.append(NOTICE)
