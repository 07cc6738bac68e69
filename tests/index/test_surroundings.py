"""Homes that cannot be written and caches that cannot be used: answers are right, and `degraded` tells."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from memfolio import Memory
from memfolio.errors import NotOwnerError
from tests.index.proof import answers, assert_index_equals_rebuilt, opened
from tests.vault.proof import fork, wait

NOBODY = 65534


@pytest.fixture
def furnished(home: Path) -> Path:
    with opened(home) as memory:
        for number in range(5):
            memory.remember(f"tea number {number}")
        memory.recall("tea")
    return home


def cache_of(home: Path) -> Path:
    return next((home.parent / ".cache/memfolio").iterdir())


def contents(memory: Memory, question: str = "tea") -> set[str]:
    return {hit.memory.content for hit in memory.recall(question)}


TEAS = {f"tea number {number}" for number in range(5)}


@pytest.mark.parametrize("keeps_index", [True, False])
def test_home_of_another_machine_is_searched(furnished: Path, keeps_index: bool) -> None:
    if not keeps_index:
        shutil.rmtree(cache_of(furnished))
    with opened(furnished, machine="there") as memory:
        assert contents(memory) == TEAS
        with pytest.raises(NotOwnerError):
            memory.remember("more tea")
        assert contents(memory) == TEAS
        with opened(furnished) as owner:
            owner.remember("tea of the owner")
        assert contents(memory) == {*TEAS, "tea of the owner"}
        assert_index_equals_rebuilt(memory)


def test_home_without_git_is_searched(home: Path) -> None:
    with opened(home, git_enabled=False) as memory:
        item = memory.remember("tea")
        assert contents(memory) == {"tea"}
        memory.forget(item.id)
        assert contents(memory) == set()
        assert_index_equals_rebuilt(memory)


def test_cache_folder_that_is_a_file_is_shown_and_done_without(furnished: Path) -> None:
    shutil.rmtree(furnished.parent / ".cache")
    (furnished.parent / ".cache").write_text("in the way")
    with opened(furnished) as memory:
        hits = memory.recall("tea")
        assert {hit.memory.content for hit in hits} == TEAS
        assert [each for each in hits.degraded if each.startswith("index: ")]
        assert memory.status().degraded
        item = memory.remember("more tea")
        assert memory.get(item.id) == item
        memory.forget(item.id)
        assert contents(memory) == TEAS
        assert_index_equals_rebuilt(memory)


@pytest.mark.parametrize("what", ["folder", "all"])
def test_cache_that_is_removed_while_it_is_open_is_built_again(furnished: Path, what: str) -> None:
    with opened(furnished) as memory:
        before = answers(memory.recall("tea"))
        shutil.rmtree(cache_of(furnished) if what == "folder" else furnished.parent / ".cache")
        assert answers(memory.recall("tea")) == before
        memory.remember("more tea")
        shutil.rmtree(furnished.parent / ".cache")
        memory.remember("even more tea")
        assert contents(memory) == {*TEAS, "more tea", "even more tea"}
        assert memory.recall("tea").degraded == ()
        assert_index_equals_rebuilt(memory)


def as_nobody(home: Path, act: Callable[[], None]) -> None:
    """Act as a user to whom the folders' modes apply; a superuser does not notice them."""
    if os.getuid() == 0:
        for parent in home.parents:
            if parent.name.startswith("pytest-"):
                os.chmod(parent, 0o755)

    def work() -> None:
        if os.getuid() == 0:
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        act()

    assert wait(fork(work)) == 0


def give_away(folder: Path) -> None:
    if os.getuid() == 0:
        for place, _, names in os.walk(folder):
            for each in (place, *(os.path.join(place, name) for name in names)):
                os.chown(each, NOBODY, NOBODY)


@pytest.mark.parametrize("mode", [0o555, 0o000])
@pytest.mark.parametrize("is_full", [True, False])
def test_cache_folder_that_cannot_be_written_is_shown_and_done_without(
    furnished: Path, mode: int, is_full: bool
) -> None:
    cache = cache_of(furnished)
    if not is_full:
        shutil.rmtree(cache)
        cache.mkdir()
    give_away(furnished.parent)
    os.chmod(cache, mode)

    def act() -> None:
        with opened(furnished) as memory:
            hits = memory.recall("tea")
            assert {hit.memory.content for hit in hits} == TEAS
            assert [each for each in hits.degraded if each.startswith("index: ")], hits.degraded
            memory.remember("more tea")
            assert contents(memory) == {*TEAS, "more tea"}
            assert memory.searcher.notices() == []

    try:
        as_nobody(furnished, act)
    finally:
        os.chmod(cache, 0o755)


def test_home_that_cannot_be_written_is_searched(furnished: Path) -> None:
    give_away(furnished.parent)
    shutil.rmtree(cache_of(furnished))
    folders = [Path(place) for place, _, _ in os.walk(furnished)]
    for folder in folders:
        os.chmod(folder, 0o555)
    for path in furnished.rglob("*"):
        if path.is_file():
            os.chmod(path, 0o444)

    def act() -> None:
        with opened(furnished) as memory:
            assert memory.status().trouble
            assert contents(memory) == TEAS
            assert memory.recall("tea").degraded == ()

    try:
        as_nobody(furnished, act)
    finally:
        for folder in folders:
            os.chmod(folder, 0o755)


def test_file_that_cannot_be_read_for_a_moment_is_found_a_moment_later(furnished: Path) -> None:
    page = furnished / "agents/main/mind/Goals.md"
    page.parent.mkdir()
    page.write_text("# Goals\n\nDrink tea in Darjeeling.\n")
    give_away(furnished.parent)

    def act() -> None:
        with opened(furnished) as memory:
            os.chmod(page, 0o000)
            memory.reindex()
            assert "Drink tea in Darjeeling." not in contents(memory, "Darjeeling")
        with opened(furnished) as memory:
            os.chmod(page, 0o644)
            memory.recall("tea")
            time.sleep(1.1)
            assert "Drink tea in Darjeeling." in contents(memory, "Darjeeling")
            assert_index_equals_rebuilt(memory)

    as_nobody(furnished, act)


def test_home_that_is_made_anew_in_the_same_place_has_nothing_of_the_old_one(home: Path) -> None:
    with opened(home) as memory:
        memory.remember("old tea")
        assert contents(memory) == {"old tea"}
    shutil.rmtree(home)
    with opened(home) as memory:
        memory.remember("new tea")
        assert contents(memory) == {"new tea"}


def test_home_that_is_restored_from_a_backup_is_searched_as_it_is(home: Path) -> None:
    """Also when as much happened since the backup as before the loss."""
    with opened(home) as memory:
        memory.remember("tea before the backup")
    shutil.copytree(home, home.parent / "backup")
    with opened(home) as memory:
        memory.remember("tea that is lost")
        assert len(contents(memory)) == 2
    shutil.rmtree(home)
    shutil.copytree(home.parent / "backup", home)
    os.rename(home.parent / ".cache", home.parent / "kept")
    with opened(home) as memory:
        memory.remember("tea after the loss")
    shutil.rmtree(home.parent / ".cache", ignore_errors=True)
    os.rename(home.parent / "kept", home.parent / ".cache")
    with opened(home) as memory:
        assert contents(memory) == {"tea before the backup", "tea after the loss"}
        assert_index_equals_rebuilt(memory)
