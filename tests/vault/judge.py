"""The judge: what a home must look like after something went wrong, given what was asked and what was promised."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from memfolio.index.index import Index
from memfolio.types import HUMAN, Action
from memfolio.vault.fields import is_whole
from memfolio.vault.journal import TrailLine
from memfolio.vault.lines import read_lines
from memfolio.vault.log import split_log
from memfolio.vault.paths import CONFIG, GITIGNORE, Form, form_of
from memfolio.vault.vault import Vault
from tests.disks import QuickDisk
from tests.index.dump import differences
from tests.index.proof import dump_of, followed, rebuilt
from tests.vault.faults import Stage
from tests.vault.proof import BOT, check_git, entries, files, git, item


def judge(stage: Stage) -> None:
    """Open the home again and raise AssertionError for whatever is not as it was promised."""
    stage.disk, stage.persistent = QuickDisk(), False
    stage.clock.advance(seconds=1)
    with stage.vault() as vault:
        assert vault.trouble is None
        assert vault.problems == {}
        index = followed(vault) if vault.config.cache.exists() else None
        _send_again(stage, vault)
        _judge_content(stage)
        _judge_trail(stage, vault)
        assert list((stage.home / ".memfolio" / "intents").glob("*.json")) == [], "an intent is still waiting"
        stage.add(vault, "the next write works")
        _judge_content(stage)
        if stage.git:
            assert vault.commit() == 0, vault.committer.obstacle
        if index is not None:
            _judge_index(vault, index)
    if stage.git:
        _judge_git(stage)
    _judge_rest(stage)


def _send_again(stage: Stage, vault: Vault) -> None:
    """What has a key may be asked for twice."""
    for request in list(stage.requests):
        if request.key and request.receipt is None:
            request.receipt = vault.add("main", [item(text) for text in request.texts], BOT, key=request.key)


def memories(stage: Stage) -> dict[str, list[str]]:
    """What is found under each id, without what a person wrote below it."""
    by_hand = [shown for each in stage.edits.values() for shown in each]
    return {each: [_without(text, by_hand) for text in texts] for each, texts in entries(stage.home).items()}


def _without(text: str, by_hand: list[str]) -> str:
    for shown in reversed(by_hand):
        text = text.removesuffix(f"\n{shown}").rstrip()
    return text


def _judge_content(stage: Stage) -> None:
    there, tracked = memories(stage), files(stage.home)
    found = Counter(content for contents in there.values() for content in contents)
    overwritten: set[str] = set()
    for request in reversed(stage.requests):
        wanted = [*request.texts, *(f'"{note}"' for note in request.notes)]
        counts = {found[text] for text in wanted}
        pages = {path: tracked.get(path) == data for path, data in request.pages.items() if path not in overwritten}
        pages = {path: same for path, same in pages.items() if path not in stage.edits}
        if request.receipt is not None:
            overwritten |= request.pages.keys()
            assert counts <= {1}, f"acknowledged, and there {counts} times: {wanted}"
            assert all(pages.values()), f"acknowledged, and not what is there: {pages}"
            for each, text in zip(request.receipt.ids, wanted, strict=True):
                assert there.get(each) == [text], f"{each}: wrote {text!r}, found {there.get(each)}"
        else:
            done = counts | {int(same) for same in pages.values()}
            assert len(done) <= 1, f"not acknowledged, and half done: {counts} {pages} of {wanted}"
            assert done <= {0, 1}, f"doubled: {wanted}"
            overwritten |= {path for path, same in pages.items() if same}
    for path, content in tracked.items():
        _judge_file(stage, path, content)
    for shown in (shown for each in stage.edits.values() for shown in each):
        assert any(shown.encode() in content for content in tracked.values()), f"a person misses {shown!r}"


def _judge_file(stage: Stage, path: str, content: bytes) -> None:
    """Nothing in the file is torn."""
    assert b"\0" not in content, f"{path} has NUL bytes"
    assert not path.endswith(".tmp"), f"{path} is litter"
    if form_of(path) is Form.LINES:
        assert content.endswith(b"\n"), f"{path} ends in the middle of a line"
        assert read_lines(content).problems == [], f"{path} has broken lines"
    if form_of(path) is not Form.LOG:
        return
    for block in split_log(content.decode(), path.split("/")[1]):
        text = block.text
        for shown in stage.edits.get(path, []):
            text = text.replace(f"\n{shown}\n", "")
        if block.id is not None:
            assert is_whole(text, path.split("/")[1]), f"{path} has a torn entry: {text!r}"
        else:
            assert block.kind == "preamble" or not text.strip(), f"{path} has a fragment: {text!r}"


def _judge_trail(stage: Stage, vault: Vault) -> None:
    assert vault.trail.problems() == []
    lines = list(vault.trail.lines())
    counted = Counter(each for line in lines if line.action in (Action.APPEND, Action.MERGE) for each in line.ids)
    present = entries(stage.home)
    assert counted == Counter(present.keys()), "the trail and the files name different memories"
    marks = {mark.path: mark for line in lines for mark in line.files}
    for path, content in files(stage.home).items():
        mark = marks.get(path)
        assert mark is not None, f"{path} is not in the trail"
        assert mark.now == vault.home.hash(content), f"the trail says something else about {path}"
    by_hand = _edited_by_hand(lines)
    allowed = {CONFIG, GITIGNORE, *stage.edits, *(path for path in by_hand if stage.edits and "/conflicts/" in path)}
    assert by_hand <= allowed, f"our own writing is ascribed to a person: {by_hand - allowed}"
    edited = {path for path, shown in stage.edits.items() if shown}
    assert edited <= by_hand or any("/conflicts/" in path for path in by_hand), f"nobody was seen: {edited - by_hand}"
    entered = Counter((mark.path, mark.now) for line in lines if line.by == BOT for mark in line.files)
    for request in stage.requests:
        for path, data in request.pages.items():
            now = None if data is None else vault.home.hash(data)
            times = entered[path, now]
            assert times == 1 or (times == 0 and request.receipt is None), f"{path}: {times} lines"


def _edited_by_hand(lines: list[TrailLine]) -> set[str]:
    """The files that a person is said to have changed; a single byte, the blank line before an entry, is anybody's."""
    found, sizes = set(), dict[str, int]()
    for line in lines:
        for mark in line.files:
            if line.by.actor == HUMAN.actor and mark.size != sizes.get(mark.path, 0) + 1:
                found.add(mark.path)
            sizes[mark.path] = mark.size
    return found


def _judge_index(vault: Vault, index: Index) -> None:
    """An index from before the fault, followed since, is that of the files."""
    with rebuilt(vault, index.agent) as other:
        found = differences(dump_of(index), dump_of(other))
    index.close()
    assert not found, "the index is not that of the files: " + "\n".join(found[:5])


def _judge_git(stage: Stage) -> None:
    """Git is whole, holds what the folder holds, and says who wrote what."""
    check_git(stage.home)
    for shown in (shown for each in stage.edits.values() for shown in each):
        authors = set(git(stage.home, "log", "--format=%an", f"-S{shown}").split())
        assert authors <= {HUMAN.actor}, f"{shown!r} was committed as {authors}"


def _judge_rest(stage: Stage) -> None:
    """Opening again and again changes nothing."""
    before = files(stage.home), _trail_bytes(stage.home)
    for _ in range(2):
        with stage.vault():
            pass
        assert (files(stage.home), _trail_bytes(stage.home)) == before, "opening the home changed it"


def _trail_bytes(home: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted((home / "audit").rglob("*.jsonl"))}
