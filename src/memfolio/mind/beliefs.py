"""Review beliefs: which are doubtful, which have ended, and which cannot both be true. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta, tzinfo
from enum import StrEnum
from itertools import combinations
from typing import Any, TypeVar

from memfolio.index.mind_pages import ItemStatus, MindItem, cues
from memfolio.learn.contradict import Opposition, contradict, without_values
from memfolio.mind.mind import LEXICON
from memfolio.settings import Minding
from memfolio.text import counted, sentences
from memfolio.types import frozen
from memfolio.vault.fields import local, midnight, read_moment
from memfolio.vault.sections import between, body_hash, is_ours, marked

# Letting go of what is over: intentions that expired or stalled, promises that were broken. Pure.

Edits = Mapping[str, Mapping[str, Any]]


@frozen
class Pruned:
    """Edits of a page's items by id, and the items to archive."""

    edits: Edits
    archived: tuple[str, ...]
    let_go: int
    """How many expired or stalled."""
    notes: tuple[str, ...]


def prune(items: Iterable[MindItem], strategy: str, minding: Minding, now: datetime, zone: tzinfo) -> Pruned:
    """Expire items past their deadline, stall those unmentioned for too long, and archive those long over.

    `strategy` applies to items that name none. An item with an invalid field is left alone, and a broken promise stays
    on its page until somebody changes its status.
    """
    patiences = {"open-minded": minding.open_minded, "cautious": minding.cautious}
    edits: dict[str, Mapping[str, Any]] = {}
    archived, notes, let_go = list[str](), list[str](), 0
    for item in (each for each in items if not each.problems):
        patience = patiences.get(item.fields.get("strategy", strategy))
        status, reason = _fate(item, patience, now, zone)
        if status is not item.status:
            let_go += 1
            edits[item.id] = {"status": status, "updated": midnight(now, zone), "reason": reason}
        elif item.updated is None and (not item.is_live or (patience and not item.deadline)):
            edits[item.id] = {"updated": midnight(now, zone)}
        # A broken promise is told at every beat until a person deals with it.
        if item.kind.name == "commitment" and status is ItemStatus.EXPIRED:
            notes.append(_broken(item, zone))
        elif not item.is_live and item.updated and now - item.updated > minding.keep:
            archived.append(item.id)
    return Pruned(edits=edits, archived=tuple(archived), let_go=let_go, notes=tuple(notes))


def _fate(item: MindItem, patience: timedelta | None, now: datetime, zone: tzinfo) -> tuple[ItemStatus, str]:
    if item.is_live and item.deadline and item.deadline < now:
        return ItemStatus.EXPIRED, f"its deadline was {local(item.deadline, zone):%Y-%m-%d}"
    # What waits for its time is not forgotten; patience begins when that time has come.
    times = (read_moment(cue, zone) for cue in cues(item.fields.get("when", "")))
    last = max(filter(None, (item.updated, item.deadline, *times)), default=now)
    if item.status is ItemStatus.ACTIVE and item.updated and patience and now - last > patience:
        came = "it came up on" if last > item.updated else "nothing was said of it since"
        also = ", and nobody said that it is done" if last > item.updated else ""
        return ItemStatus.STALLED, f"{came} {local(last, zone):%Y-%m-%d}{also}"
    return item.status, ""


def _broken(item: MindItem, zone: tzinfo) -> str:
    to = f" to {item.fields['to']}" if "to" in item.fields else ""
    when = f", due {local(item.deadline, zone):%Y-%m-%d}" if item.deadline else ""
    return f"broken promise{to}: {item.title} ({item.id}{when})"


# Looking beliefs over, some at a time: what is doubtful about each, and which say the same. Pure.
#
# Nobody's words are changed here: only how a belief stands.

UNKNOWN = "unknown"
"""The state of a ground that does not exist."""
ITEMS_NAMED = 5
"""How many beliefs a note names."""


@frozen
class Ground:
    """A memory or fact that beliefs rest on and that no longer holds; `state` says why."""

    id: str
    state: str = UNKNOWN
    says: str = ""
    """What replaced it, or else what it said; empty if it was forgotten."""
    at: datetime | None = None


@frozen
class CheckedBeliefs:
    """The outcome of reviewing beliefs, of one chunk or of several merged."""

    chunks: int
    edits: Edits
    notes: tuple[str, ...]


def validate(items: Sequence[MindItem], gone: Mapping[str, Ground], size: int, today: datetime) -> CheckedBeliefs:
    """Look all beliefs over; of several that say the same the surest counts, and the others are retired."""
    chunks = [items[at : at + size] for at in range(0, len(items), size)]
    found = defaultdict[str, list[MindItem]](list)
    edits: dict[str, Mapping[str, object]] = {}
    surest: dict[str, MindItem] = {}
    for item in (each for chunk in chunks for each in chunk if each.is_live and not each.problems):
        for doubt in _doubts(item, gone):
            found[doubt].append(item)
        other = surest.setdefault(key := " ".join(item.says.casefold().split()), item)
        if key and other is not item:
            surest[key], weaker = (item, other) if item.certainty > other.certainty else (other, item)
            edits[weaker.id] = {
                "status": ItemStatus.RETIRED,
                "updated": today,
                "reason": f"{surest[key].id} says the same",
            }
    return CheckedBeliefs(chunks=len(chunks), edits=edits, notes=tuple(_told(*each) for each in found.items()))


def _doubts(item: MindItem, gone: Mapping[str, Ground]) -> Iterator[str]:
    if not item.says:
        yield "without words"
    elif "certainty" not in item.fields:
        yield "without a certainty, taken as 0.5"
    for ground in filter(None, map(gone.get, item.links())):
        yield "resting on what is not there" if ground.state == UNKNOWN else f"resting on what was {ground.state}"


def _told(doubt: str, items: Sequence[MindItem]) -> str:
    named = ", ".join(f"{item.title[:60] or f'line {item.line}'} ({item.id})" for item in items[:ITEMS_NAMED])
    return f"beliefs {doubt}: {named}{f' and {len(items) - ITEMS_NAMED} more' if len(items) > ITEMS_NAMED else ''}"


# Beliefs that cannot, or may not, be true together. Pure, and near-linear: only what shares a key is compared.

CROWD = 8
"""Up to so many are compared each with each: a word that more beliefs share tells little, and more subjects that differ
by a letter are numbered rather than mistyped."""
LONG_ENOUGH = 6
"""Words of at least this many letters can be compared for typing errors."""
LONGEST = 2000
"""Characters of the title and of the text of a belief that are read."""
_TOKEN = re.compile(r"\d[\d.,:-]*\d|\d|[^\W\d_]+")
_DATED = re.compile(r"\d{4}-\d\d-\d\d|\d\d?:\d\d")
"""Times that are no more than what is said: the release is on 2026-11-20."""
_COLON = re.compile(r":(?:\s+|$)")
Words = tuple[str, ...]
T = TypeVar("T")


class ConflictKind(StrEnum):
    """How beliefs are in conflict, the gravest first."""

    NEGATION = "negation"
    VALUES = "values"
    SUPERSEDED = "superseded"
    SUBJECT = "subject"
    SIMILAR = "similar"


_KINDS = list(ConflictKind)
_REASONS = {
    ConflictKind.NEGATION: "one denies what the other says",
    ConflictKind.VALUES: "they give different values for the same",
    ConflictKind.SUPERSEDED: "it rests on what was {}",
    ConflictKind.SUBJECT: "they say different things about the same subject",
    ConflictKind.SIMILAR: "they say different things, and their subjects differ by little",
}

Clash = tuple[ConflictKind, bool, MindItem, MindItem | Ground]


@frozen
class Side:
    """One side of a conflict: a belief, or the ground against it, which has no certainty."""

    id: str
    says: str
    certainty: float | None = None
    at: datetime | None = None


@frozen
class Conflict:
    """Two statements in conflict; `is_certain` is false if both may well be true."""

    kind: ConflictKind
    subject: str
    is_certain: bool
    severity: float
    one: Side
    other: Side
    reason: str
    advice: str


def find_conflicts(items: Iterable[MindItem], gone: Mapping[str, Ground], threshold: float) -> list[Conflict]:
    """Return conflicts among beliefs above the certainty threshold, the most serious first.

    `gone` holds the grounds of these beliefs that no longer hold.
    """
    held = [item for item in items if item.is_live and item.says and item.certainty > threshold]
    # The surest first: of many that say the same of something, each is compared with that one.
    held.sort(key=lambda item: (item.certainty, _age(item), item.id), reverse=True)
    clashes = [*_by_words(held), *_by_subject(held), *_by_ground(held, gone)]
    # The gravest last: of several clashes of one pair, it is the one that stays.
    clashes.sort(key=lambda clash: (clash[1], -_KINDS.index(clash[0])))
    gravest = {frozenset((clash[2].id, clash[3].id)): clash for clash in clashes}
    found = (_conflict(*clash, gone) for clash in gravest.values())
    return sorted(found, key=lambda each: (not each.is_certain, -each.severity, each.one.id, each.other.id))


def _by_words(held: Iterable[MindItem]) -> Iterator[Clash]:
    """Compare sentences of beliefs, as those of memories are compared, that share a telling word or all but a value."""
    sharing, alike = (defaultdict[tuple[str, str], list[tuple[MindItem, str]]](list) for _ in range(2))
    for item in held:
        subject, content = subject_of(item)
        # What the text says is about the subject: the rents of two towns may differ. `TTL`, and below it `12 hours`.
        told = (each if each[:1].isupper() else f"{subject} {each}" for each in sentences(content[:LONGEST]))
        said = [("", item.title[:LONGEST]), *((subject.casefold(), each) for each in told)]
        for about, sentence in said:
            alike[about, without_values(sentence).casefold()].append((item, sentence))
            for word in {each for each in _words(sentence) if len(each) > 2}:
                sharing[about, word].append((item, sentence))
    pairs = [pair for some in sharing.values() if len(some) <= CROWD for pair in combinations(some, 2)]
    # A word that all of them share tells little, but what they say of it may differ in a value alone.
    pairs += [pair for (_, rest), some in alike.items() if rest for pair in _pairs(some)]
    for (one, a), (other, b) in pairs:
        if one is not other and (found := contradict(a, b)):
            kind = ConflictKind.NEGATION if found is Opposition.NEGATION else ConflictKind.VALUES
            yield kind, found is not Opposition.VALUES or _differ_in_a_number(a, b), one, other


def _differ_in_a_number(one: str, other: str) -> bool:
    """Whether two sentences are the same but for one number, and it says neither roughly how many nor when."""
    ours, theirs = (_TOKEN.findall(each.casefold()) for each in (one, other))
    differing = [at for at, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b]
    if len(ours) != len(theirs) or len(differing) != 1 or not LEXICON.words("vague").isdisjoint(ours):
        return False
    at, values = differing[0], (ours[differing[0]], theirs[differing[0]])
    # Other values may be true at other times: the meeting is on Monday, and on Friday.
    is_timed = at > 0 and ours[at - 1] in LEXICON.words("when") and not _DATED.fullmatch(values[0])
    return not is_timed and all(without_values(f"it {each}") == "it" for each in values)


def _by_subject(held: Iterable[MindItem]) -> Iterator[Clash]:
    """Compare what is said below the same heading, or one that differs by little; what was and what is go together."""
    groups: defaultdict[tuple[Words, bool], dict[Words, MindItem]] = defaultdict(dict)
    for item in held:
        subject, content = subject_of(item)
        if content and (key := tuple(sorted(_words(subject)))):
            words = tuple(_words(content))
            groups[key, not LEXICON.words("past").isdisjoint(words)].setdefault(words, item)
    for versions in groups.values():
        yield from (_apart(*pair) for pair in _pairs([*versions.values()]))
    for one, other in near(key for key, is_past in groups if not is_past):
        # The surest of each stands for all that is said there.
        yield _apart(*(next(iter(groups[key, False].values())) for key in (one, other)))


def subject_of(item: MindItem) -> tuple[str, str]:
    """Return the subject of a belief and what it says about it; the latter is empty if the title says it all."""
    head, *rest = _COLON.split(item.title, maxsplit=1)
    return head.strip(), "\n".join(filter(None, (*(each.strip() for each in rest), item.text)))


def _words(text: str) -> list[str]:
    """The words that tell something, without a plural s."""
    words = (word for word in _TOKEN.findall(text[:LONGEST].casefold()) if word not in LEXICON.words("fillers"))
    return [word[:-1] if len(word) > 3 and word[-1] == "s" and word[-2] not in "sui" else word for word in words]


def _pairs(some: Sequence[T]) -> Iterator[tuple[T, T]]:
    """What is compared of several that are about the same: each with each, or of many with the first."""
    return combinations(some, 2) if len(some) <= CROWD else ((some[0], each) for each in some[1:])


def _by_ground(held: Iterable[MindItem], gone: Mapping[str, Ground]) -> Iterator[Clash]:
    """Beliefs that rest on what does not hold any more."""
    for item in held:
        for ground in filter(None, map(gone.get, item.links())):
            if ground.state != UNKNOWN:
                yield ConflictKind.SUPERSEDED, False, item, ground


def near(keys: Iterable[Words]) -> Iterator[tuple[Words, Words]]:
    """The pairs of keys in which one long word differs by a letter put in, taken out, replaced or swapped."""
    alike: defaultdict[int, list[Words]] = defaultdict(list)
    for key in keys:
        for at, word in enumerate(key):
            if len(word) >= LONG_ENOUGH and word.isalpha():
                rest = hash(key[:at] + key[at + 1 :])
                # The first letter stays: with another one it is another word.
                for mark in {word, *[word[:cut] + word[cut + 1 :] for cut in range(1, len(word))]}:
                    alike[hash((rest, mark))].append(key)
    some = (sorted(set(keys)) for keys in alike.values() if 1 < len(keys) <= CROWD)
    pairs = dict.fromkeys(pair for keys in some for pair in combinations(keys, 2))
    return (pair for pair in pairs if len({*pair[0]} ^ {*pair[1]}) == 2)


def _apart(one: MindItem, other: MindItem) -> Clash:
    is_same = subject_of(one)[0].casefold() == subject_of(other)[0].casefold()
    return ConflictKind.SUBJECT if is_same else ConflictKind.SIMILAR, False, one, other


def _age(item: MindItem) -> float:
    return item.updated.timestamp() if item.updated else 0.0


def _conflict(
    kind: ConflictKind, is_certain: bool, a: MindItem, b: MindItem | Ground, gone: Mapping[str, Ground]
) -> Conflict:
    if isinstance(b, MindItem):
        a, b = sorted((a, b), key=lambda each: (each.line, each.id))
    return Conflict(
        kind=kind,
        subject=subject_of(a)[0],
        is_certain=is_certain,
        severity=min(a.certainty, b.certainty if isinstance(b, MindItem) else 1),
        one=_side(a),
        other=_side(b),
        reason=_REASONS[kind].format("" if isinstance(b, MindItem) else b.state),
        advice=_advice(a, b, gone),
    )


def _side(one: MindItem | Ground) -> Side:
    if isinstance(one, Ground):
        return Side(id=one.id, says=one.says or one.state, at=one.at)
    return Side(id=one.id, says=one.says, certainty=one.certainty, at=one.updated)


def _advice(one: MindItem, other: MindItem | Ground, gone: Mapping[str, Ground]) -> str:
    """Which of two to look at first, and why."""
    if isinstance(other, Ground):
        return f"Check whether {one.id} still holds, or retire it"
    shaky = [each for each in (one, other) if not gone.keys().isdisjoint(each.links())]
    if len(shaky) == 1:
        stale, why = shaky[0], "what it rests on does not hold any more"
    elif one.updated and other.updated and one.updated.date() != other.updated.date():
        stale, why = min((one, other), key=_age), "it is older"
    elif one.certainty != other.certainty:
        stale, why = min((one, other), key=lambda each: each.certainty), "it is less certain"
    else:
        return "Check both: nothing tells which of them is stale"
    return f"Check {stale.id} first: {why}"


# The part of a day's page in `memory/conflicts/` that tells of beliefs in conflict. Pure.
#
# It stands between two marks; whatever else is on the page, by a person or by other jobs, stays as it is.

BEGIN, END = "<!-- beliefs", "<!-- end of beliefs -->"
MOST = 100
"""The most conflicts that are reported."""
LONGEST_CONFLICT_LINE = 300
"""Characters of a belief that are shown."""
ASK = "Nothing was changed. Correct, drop or retire what is wrong, by its id."
_OURS = between(BEGIN, END)


def reported_hash(text: str) -> str:
    """A hash of what we told on a page; empty where that is nothing."""
    found = _OURS.search(text)
    return found[1] if found else ""


def conflict_page(there: str, before: str, conflicts: Sequence[Conflict], day: date, zone: tzinfo) -> str:
    """The page of the day; the same as `there` where there is nothing to tell that was not told.

    `before` is the hash of what we told last, on that day or earlier. Where a person wrote into it, it becomes theirs.
    """
    told = _rendered(conflicts, zone)
    if before == body_hash(told) or not (conflicts or before):
        return there
    body = marked(f"{told}\n", BEGIN, END)
    if is_ours(there, _OURS):
        return _OURS.sub(lambda _: body, there, count=1)
    theirs = _OURS.sub(lambda found: found[2], there, count=1).rstrip()
    return f"{theirs or f'# Conflicts found on {day}'}\n\n{body}\n"


def _rendered(conflicts: Sequence[Conflict], zone: tzinfo) -> str:
    if not conflicts:
        return "## No conflict among beliefs\n"
    sections = (line for conflict in conflicts[:MOST] for line in _section(conflict, zone))
    rest = ["The others are not told here.", ""] if len(conflicts) > MOST else []
    return "\n".join([f"## {counted(len(conflicts), 'conflict')} among beliefs", "", ASK, "", *sections, *rest])


def _section(conflict: Conflict, zone: tzinfo) -> Iterator[str]:
    yield from (f"### {_inline(conflict.subject)}", "")
    for letter, side in zip("AB", (conflict.one, conflict.other), strict=True):
        known = [f"certainty {side.certainty:.2g}"] if side.certainty is not None else []
        known += [f"{local(side.at, zone):%Y-%m-%d}"] if side.at else []
        about = f" ({', '.join(known)})" if known else ""
        yield f'- **Belief {letter}**{about}: "{_inline(side.says)}" ({side.id})'
    sure = "certain" if conflict.is_certain else "possible"
    yield f"- **Severity**: {conflict.severity:.2g}, {sure}: {conflict.reason}"
    yield from (f"- **Recommended action**: {conflict.advice}", "")


def _inline(text: str) -> str:
    line = " ".join(text.split()).replace("<!--", "<! --")
    return line if len(line) <= LONGEST_CONFLICT_LINE else f"{line[: LONGEST_CONFLICT_LINE - 1]}…"
