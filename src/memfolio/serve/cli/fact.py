"""The command `fact` with what is below it: what is known as subject, predicate and object, and why."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memfolio.errors import InputError, NotFoundError
from memfolio.serve.cli.call import PERSON, Answer, Options, in_empty_folder
from memfolio.serve.cli.output import Screen
from memfolio.serve.cli.times import read_moment
from memfolio.serve.cli.traverse import fact_count as fact_count
from memfolio.serve.cli.traverse import fact_impact as fact_impact
from memfolio.serve.cli.traverse import fact_misfits as fact_misfits
from memfolio.serve.cli.traverse import fact_traverse as fact_traverse
from memfolio.text import counted

if TYPE_CHECKING:
    from memfolio.index.facts import Fact
    from memfolio.memory import Memory


def fact_assert(
    options: Options,
    subject: str,
    predicate: str,
    object: str,
    confidence: float | None = None,
    source: str | None = None,
    category: str | None = None,
    valid_from: str | None = None,
    valid_until: str | None = None,
    memories: list[str] | None = None,
) -> Answer:
    with options.memory(create=in_empty_folder) as memory:
        fact = memory.facts.assert_(
            subject,
            predicate,
            object,
            confidence=confidence,
            source=source,
            category=category,
            valid_from=valid_from,
            valid_until=valid_until,
            memories=memories or (),
            by=PERSON,
        )
    return Answer(document(fact), lambda screen: screen.say(f"{fact.id} {fact}"))


def fact_retract(
    options: Options,
    id: str | None = None,
    /,
    subject: str | None = None,
    predicate: str | None = None,
    object: str | None = None,
    dry_run: bool = False,
) -> Answer:
    with options.memory() as memory:
        found = memory.facts.retract(id, subject, predicate, object, by=PERSON, dry_run=dry_run)
    if not found:
        raise NotFoundError("there are no such facts to retract", hint="`memfolio fact query` shows which there are")
    done = f"{'Would retract' if dry_run else 'Retracted'} {counted(len(found), 'fact')}."
    return many(found, done)


def fact_query(
    options: Options,
    subject: str | None = None,
    predicate: str | None = None,
    object: str | None = None,
    /,
    min_confidence: float = 0.0,
    valid_at: str | None = None,
    as_of: str | None = None,
    category: str | None = None,
    source: str | None = None,
    asserted: bool = False,
    untrusted: bool = False,
    limit: int = 50,
) -> Answer:
    from memfolio.knowledge.facts import MOST

    with options.memory() as memory:
        config, facts = memory.vault.config, memory.facts
        ask = partial(
            facts.query,
            subject,
            predicate,
            object,
            min_confidence=min_confidence,
            valid_at=valid_at if valid_at == "any" else read_moment(config, valid_at, name="valid_at"),
            as_of=read_moment(config, as_of, name="as_of"),
            include_derived=not asserted,
            category=category,
            source=source,
            include_untrusted=untrusted,
        )
        found, problems = ask(limit=limit), facts.problems()
        is_cut = len(found) == limit < MOST and len(ask(limit=limit + 1)) > limit
    notes = [f"{limit} of more; --limit shows further ones."] * is_cut
    if problems:
        lines, are = counted(len(problems), "line"), "is" if len(problems) == 1 else "are"
        notes.append(f"{lines} of knowledge/facts {are} not read: `memfolio status` tells which")
    answer = many(found, "" if found else "There are no such facts.", notes)
    answer.document |= {"is_cut": is_cut, "problems": problems}
    return answer


def fact_show(options: Options, id: str) -> Answer:
    with options.memory() as memory:
        shown = document(memory.facts.get(id))

    def draw(screen: Screen) -> None:
        for name, value in shown.items():
            if name == "confidence" or value not in (None, [], 0, False):
                told = ", ".join(value) if isinstance(value, list) else _sure(value) if name == "confidence" else value
                screen.say(f"{name.replace('_', ' '):<18} {told}")

    return Answer(shown, draw)


def fact_explain(options: Options, id: str, depth: int = 3, mermaid: bool = False) -> Answer:
    from memfolio.knowledge.tree import as_document, as_mermaid, as_text

    with options.memory() as memory:
        node = memory.facts.explain(id, depth=depth)
    text = as_mermaid(node) if mermaid else as_text(node)
    return Answer({"fact": id, "tree": as_document(node)}, lambda screen: screen.say(text))


def fact_history(options: Options, id: str) -> Answer:
    from memfolio.knowledge.facts import entry_json

    with options.memory() as memory:
        found = memory.facts.history(id)
    told = list(map(entry_json, found))
    known = [
        (_sure(each.fact.confidence), each.fact.source, _span(each.fact)) if each.fact else ("", "", "")
        for each in found
    ]
    rows = [(each["at"], each["op"], *more, each["id"]) for each, more in zip(told, known, strict=True)]
    names = ("at", "op", "sure", "source", "holds", "line")
    return Answer({"history": told}, lambda screen: screen.table(names, rows, wide="source"))


def fact_verify(
    options: Options, id: str, method: str = "consistency_check", confirmed: bool | None = None, adjust: bool = False
) -> Answer:
    if method == "user_confirmation" and confirmed is None:
        raise InputError(f"nobody has said whether {id[:80]} is so", hint="add --yes or --no")
    with options.memory() as memory:
        found = memory.verify_fact(id, method, confirmed=confirmed, adjust=adjust, by=PERSON)
    told = {"fact": id, "method": found.method.value, "verified": found.verified, "confidence": found.confidence}
    against = [str(each) for each in found.contradictions]

    def draw(screen: Screen) -> None:
        screen.say(f"{'Verified' if found.verified else 'Not verified'}: {found.reason}", "bold")
        for each in against:
            screen.say(f"  against it: {each}")

    return Answer({**told, "reason": found.reason, "against": against, "supports": list(found.supports)}, draw)


def fact_import(options: Options, file: str, dry_run: bool = False) -> Answer:
    from memfolio.knowledge.facts import MOST

    lines, count, problems = lines_of(file), 0, list[str]()
    with options.memory(create=in_empty_folder) as memory:
        good = read_lines(lines, memory, problems)
        while some := list(islice(good, MOST)):
            count += len(some) if dry_run else len(memory.facts.assert_many(some, by=PERSON))

    def draw(screen: Screen) -> None:
        for problem in problems:
            screen.say(problem, "yellow")
        screen.say(f"{'Would assert' if dry_run else 'Asserted'} {counted(count, 'fact')}.", "bold")

    return Answer({"facts": count, "problems": problems}, draw, status=1 if problems else 0)


def lines_of(file: str) -> Iterable[bytes]:
    try:
        return sys.stdin.buffer if file == "-" else BytesIO(Path(file).read_bytes())
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}", hint="name a file of JSON lines") from error


def read_lines(lines: Iterable[bytes], memory: Memory, problems: list[str]) -> Iterator[dict[str, Any]]:
    """The facts of a file; what only its ledger or an export knows about them is left out."""
    from memfolio.knowledge.facts import GIVEN, assertion
    from memfolio.vault.fields import read_object

    for number, line in enumerate(lines, 1):
        try:
            if not line.strip():
                continue
            record = read_object(line.decode("utf-8-sig"))
            if record.get("op", "assert") != "assert":
                raise ValueError(f"{record['op']!r:.40} asserts nothing")
            record["source"] = record.get("from", record.get("source"))
            known = {name: record[name] for name in GIVEN if name in record}
            assertion(known, memory.agent, memory.vault.home.zone)
        except (ValueError, InputError) as error:
            problems.append(f"line {number}: {error.message if isinstance(error, InputError) else error}")
        else:
            yield known


def fact_export(
    options: Options, subject: str | None = None, predicate: str | None = None, object: str | None = None
) -> Answer:
    from memfolio.knowledge.facts import GIVEN

    with options.memory() as memory:
        found = map(document, memory.facts.all(subject, predicate, object, include_untrusted=True))
        told = ({name: each[name] for name in GIVEN if each.get(name) is not None} for each in found)
        if options.as_json:
            return Answer({"facts": list(told)}, lambda _: None)
        options.wait.stop()
        for each in told:
            sys.stdout.write(json.dumps(each, ensure_ascii=False) + "\n")
    return Answer({}, lambda _: None)


def document(fact: Fact) -> dict[str, Any]:
    from memfolio.knowledge.facts import fact_json

    return fact_json(fact)


def many(found: list[Fact], done: str, notes: Iterable[str] = ()) -> Answer:
    """Facts as a table, what was done with them, and what else there is to know."""

    def draw(screen: Screen) -> None:
        columns = {
            "id": [each.id for each in found],
            "subject": [each.subject for each in found],
            "predicate": [each.predicate for each in found],
            "object": [each.object for each in found],
            "sure": [_sure(each.confidence) for each in found],
            "source": [each.source for each in found] if any(each.source != "manual" for each in found) else [],
            "holds": spans if any(spans := [_span(each) for each in found]) else [],
        }
        shown = {name: column for name, column in columns.items() if column}
        if shown:
            screen.table(tuple(shown), list(zip(*shown.values(), strict=True)), wide="object")
        if done:
            screen.say(done, "bold")
        for note in notes:
            screen.say(note, "yellow")

    return Answer({"facts": [document(each) for each in found]}, draw)


def _sure(confidence: float) -> str:
    return f"{confidence:.4g}"


def _span(fact: Fact) -> str:
    """When a fact holds; nothing where it always does."""
    from memfolio.knowledge.join import BEGINNING, END
    from memfolio.knowledge.tree import span_text

    start, end = fact.valid_from_us, fact.valid_until_us
    return span_text(BEGINNING if start is None else start, END if end is None else end)
