"""Commands that reflect and propose, and that decide on what waits for a person."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from memfolio.errors import ConflictError, InputError, NotFoundError, PolicyError, RefusedError
from memfolio.serve.cli.call import PERSON, Answer, Options
from memfolio.serve.cli.errors import EXIT_CODES
from memfolio.serve.cli.output import Line, Screen, fields_of, note, picked, seq_of, yellow
from memfolio.text import counted
from memfolio.types import MemoryItem
from memfolio.verbs.documents import proposal as proposal_document

if TYPE_CHECKING:
    from memfolio.govern.proposals import Proposal
    from memfolio.govern.reflection.page import ReflectionItem
    from memfolio.govern.reflection.reflections import DecidedReflection, Reflections
    from memfolio.memory import Memory

STYLES = {"#": "bold", "> ": "yellow", "**": "dim", "+": "green", "-": "red"}
LOOK = "look with `memfolio proposals {id}`, then say --hash {hash}"
LIST = "`memfolio proposals` lists them with their hashes; approve each with its --hash"


def reflect(options: Options, dry_run: bool = False) -> Answer:
    from memfolio.govern.reflection.page import WORDS

    with options.memory() as memory:
        made = memory.reflections.reflect(memory.vault.home.now(), dry_run=dry_run, by=PERSON)
    seq = seq_of(made)
    done = f"{made.path} (change {seq})" if seq else "Nothing was written."
    fields = {"number": made.number, "path": made.path if seq else None, "hash": made.shown, "text": made.text}
    document = {**fields, "items": _items(made.items), "seq": seq, "dry_run": dry_run}
    # Of a page that was not written nothing can be approved.
    text = made.text.removesuffix(WORDS["reply"]) if dry_run else made.text
    return Answer(document, [lambda screen: screen.lines(text, STYLES), "", (done, "bold")])


def _items(items: Mapping[int, ReflectionItem]) -> dict[int, dict[str, Any]]:
    """Items for programs, with the fields that their verbs name."""
    documents = {
        number: {name: value for name, value in fields_of(item).items() if value} for number, item in items.items()
    }
    for fields in documents.values():
        if fields["verb"] != "learn":
            del fields["type"], fields["confidence"]
    return documents


def approve(
    options: Options,
    ids: list[str] | None = None,
    /,
    without: str = "",
    edit: bool = False,
    shown: str | None = None,
    store: str | None = None,
    kind: str | None = None,
    every: bool = False,
    yes: bool = False,
) -> Answer:
    with options.memory() as memory:
        if ids or every:
            if without or edit:
                raise InputError(
                    "--except and --edit are for a reflection", hint="edit the page of the proposal, then approve it"
                )
            wanted = _proposals(memory, ids, every=every)
            if shown is not None and len(wanted) > 1:
                raise InputError("a hash names one proposal", hint="approve them one by one")
            how = LIST if len(wanted) > 1 else LOOK
            commit = partial(_commit, options, memory, shown, how, yes=yes, store=store, kind=kind)
            return _decide(memory, "approved", wanted, commit)
        reflections, left = _waiting(memory), _numbers(without)
        pending = reflections.wanted(shown, edited=edit)
        how = f"read {pending.path}, then say --hash {pending.shown}"
        if yes and shown is None and pending.shown != pending.made:
            raise RefusedError(f"{pending.path} was edited and must be shown before it is approved", hint=how)

        def preview(screen: Screen) -> None:
            screen.lines(pending.text, STYLES)
            for number, deed in reflections.edits(pending).items():
                screen.say(f"Item {number} was {deed} since the page was made.", "yellow")

        count = len(pending.items.keys() - set(left))
        deed = f"apply {counted(count, 'item')} of it"
        seen = _ask(options, deed, preview, how, yes=yes or shown is not None)
        decided = reflections.approve(shown=pending.shown if seen else shown, without=left, by=PERSON)
    return _decision(decided)


def reject(options: Options, ids: list[str] | None = None, /, reason: str = "", every: bool = False) -> Answer:
    with options.memory() as memory:
        if not ids and not every:
            return _decision(_waiting(memory).reject(reason, by=PERSON))
        wanted = _proposals(memory, ids, every=every)
        decided = _decide(memory, "rejected", wanted, lambda each: memory.proposals.reject(each.id, reason, by=PERSON))
    return replace(decided, document=decided.document | {"reason": reason})


def _waiting(memory: Memory) -> Reflections:
    if memory.reflections.pending() is None:
        raise NotFoundError("no reflection is pending", hint="`memfolio reflect` makes one")
    return memory.reflections


def _proposals(memory: Memory, ids: Sequence[str] | None, *, every: bool) -> list[str]:
    if wrong := [each for each in ids or () if not each.startswith("P-")]:
        raise InputError(f"{wrong[0][:40]!r} is not the id of a proposal", hint="those begin with P-")
    return list(ids or ()) or [each.id for each in memory.proposals.pending() if every]


def _commit(
    options: Options,
    memory: Memory,
    shown: str | None,
    how: str,
    proposal: Proposal,
    *,
    yes: bool,
    **fields: str | None,
) -> object:
    """Commit a proposal once the person has seen it, or named it by its hash."""
    page, how = memory.vault.page(proposal.path), how.format(id=proposal.id, hash=proposal.shown)
    if yes and shown is None:
        raise RefusedError(f"{proposal.id} must be shown before it is approved", hint=how)
    text = page.text if page else ""
    _ask(options, f"approve {proposal.id}", lambda screen: screen.lines(text, STYLES), how, yes=shown is not None)
    return memory.proposals.commit(proposal.id, shown=proposal.shown if shown is None else shown, by=PERSON, **fields)


def _ask(options: Options, deed: str, preview: Callable[[Screen], None], how: str, *, yes: bool) -> bool:
    """Return whether the person was asked and agreed; without a terminal, the error says how else to decide."""
    try:
        return options.confirm(deed, preview, yes=yes)
    except RefusedError as error:
        raise RefusedError(error.message, hint=how) from error


def _decide(memory: Memory, deed: str, ids: Sequence[str], act: Callable[[Proposal], object]) -> Answer:
    """Decide on proposals; if one of several fails, the others are still decided."""
    done: dict[str, tuple[list[MemoryItem], int]] = {}
    left: dict[str, str] = {}
    for each in ids:
        try:
            proposal = memory.proposals.get(each)
            made = act(proposal)
        except (ConflictError, InputError, NotFoundError, PolicyError) as error:
            if len(ids) == 1:
                raise
            left[each] = error.message
        else:
            line = next(memory.vault.trail.newest_first(containing=[proposal.path.encode()]))
            done[each] = _memories(made), line.seq

    lines: list[Line] = []
    for each, (memories, seq) in done.items():
        made = f" ({', '.join(memory.id for memory in memories)})" if memories else ""
        lines.append((f"{each} {deed}{made} (change {seq}); `memfolio undo {seq}` undoes it", "bold"))
    lines += yellow(f"{each} was skipped: {why}" for each, why in left.items())
    lines += [] if ids else [("No pending proposals.", "dim")]
    changes = [{"proposal": each, "made": memories, "seq": seq} for each, (memories, seq) in done.items()]
    status = EXIT_CODES[ConflictError] if left else 0
    return Answer({deed: list(done), "changes": changes, "left": left}, lines, status)


def _numbers(text: str) -> list[int]:
    words = text.replace(",", " ").split()
    if not all(word.isdecimal() for word in words):
        raise InputError(f"{text[:40]!r} are not numbers of items", hint="separate them by commas: --except 3,7")
    return [int(word) for word in words]


def _memories(made: object) -> list[MemoryItem]:
    return [each for each in getattr(made, "memories", (made,)) if isinstance(each, MemoryItem)]


def _decision(decided: DecidedReflection) -> Answer:
    seq = seq_of(decided)

    applied = f", {counted(len(decided.applied), 'item')} applied" if decided.applied else ""
    document = {
        **picked(decided, "number path outcome left_out skipped"),
        "applied": _items(decided.applied),
        "seq": seq,
    }
    lines: list[Line] = [
        *yellow(f"{number} was skipped: {why}" for number, why in decided.skipped.items()),
        (f"Reflection {decided.number} {decided.outcome}{applied} (change {seq}).", "bold"),
        f"`memfolio undo {seq}` undoes it.",
    ]
    return Answer(document, lines)


def propose(proposal: Proposal) -> Answer:
    if isinstance(proposal.made, MemoryItem):
        done = f"{proposal.id} committed at once as {proposal.made.id}"
        return Answer({**proposal_document(proposal), "status": "committed"}, (done, "bold"))
    waits = f"{proposal.id} waits for {proposal.to} (hash {proposal.shown})"
    how = f"`memfolio --agent {proposal.to} approve {proposal.id}` approves it"
    return Answer(dict(proposal_document(proposal)), [(waits, "bold"), how])


def proposals(memory: Memory, id: str | None = None, /, defer: str | None = None, every: bool = False) -> Answer:
    if defer:
        put_off = memory.proposals.defer(defer, by=PERSON)
        how = f"`memfolio proposals --all` lists it, `memfolio approve {defer}` approves it"
        return Answer(dict(proposal_document(put_off)), f"{defer} deferred; {how}")
    if id:
        proposal = memory.proposals.get(id)
        page = memory.vault.page(proposal.path)
        return Answer(
            dict(proposal_document(proposal)), f"{page.text if page else ''}\nhash {proposal.shown}, {proposal.path}"
        )
    found, broken = memory.proposals.pending(all=every), [each.message for each in memory.proposals.broken()]
    lines: list[Line] = list(map(note, broken))
    for each in found:
        to = f" to {each.to}" if each.to != memory.agent else ""
        age = _age(memory.vault.home.now() - each.at)
        lines += [(each.title, "bold"), f"  {each.id}, hash {each.shown}"]
        lines.append((f"  from {each.proposer}{to}, {age} ago, {each.status}", "dim"))
    if memory.reflections.pending():
        lines.append("A reflection is pending: `memfolio approve` shows it and asks.")
    elif not found:
        lines.append(("No pending proposals.", "dim"))
    return Answer({"proposals": list(map(proposal_document, found)), "broken": broken}, lines)


def _age(span: timedelta) -> str:
    minutes = max(0, span // timedelta(minutes=1))
    return f"{span.days}d" if span.days > 0 else f"{minutes // 60}h" if minutes >= 60 else f"{minutes}m"
