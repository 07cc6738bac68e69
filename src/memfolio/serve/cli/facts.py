"""The commands below `fact`: what is known as subject, predicate and object, why, and what hangs on it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memfolio.errors import InputError, NotFoundError
from memfolio.serve.cli.call import PERSON, Answer, Options
from memfolio.serve.cli.derive import makes_home
from memfolio.serve.cli.output import Line, picked, table, yellow
from memfolio.text import counted
from memfolio.verbs import documents

if TYPE_CHECKING:
    from memfolio.index.facts import Fact
    from memfolio.knowledge.traverse import Path as FactPath
    from memfolio.knowledge.traverse import Questions
    from memfolio.memory import Memory


@makes_home
def fact_assert(
    memory: Memory,
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
    return Answer(_document(fact), f"{fact.id} {fact}")


def fact_retract(
    memory: Memory,
    id: str | None = None,
    /,
    subject: str | None = None,
    predicate: str | None = None,
    object: str | None = None,
    dry_run: bool = False,
) -> Answer:
    found = memory.facts.retract(id, subject, predicate, object, by=PERSON, dry_run=dry_run)
    if not found:
        raise NotFoundError("there are no such facts to retract", hint="`memfolio fact query` shows which there are")
    done = f"{'Would retract' if dry_run else 'Retracted'} {counted(len(found), 'fact')}."
    return Answer({"facts": list(map(_document, found))}, [_table(found), (done, "bold")])


def fact_query(
    memory: Memory,
    subject: str | None = None,
    predicate: str | None = None,
    object: str | None = None,
    /,
    min_confidence: float = 0.0,
    valid_at: str | None = None,
    as_of: datetime | None = None,
    category: str | None = None,
    source: str | None = None,
    asserted: bool = False,
    untrusted: bool = False,
    limit: int = 50,
) -> Answer:
    from memfolio.knowledge.facts import MOST
    from memfolio.verbs.verb import as_moment

    at = valid_at if valid_at in (None, "any") else as_moment(memory, "valid_at", valid_at)
    ask = partial(
        memory.facts.query,
        subject,
        predicate,
        object,
        min_confidence=min_confidence,
        valid_at=at,
        as_of=as_of,
        include_derived=not asserted,
        category=category,
        source=source,
        include_untrusted=untrusted,
    )
    found, problems = ask(limit=limit), memory.facts.problems()
    is_cut = len(found) == limit < MOST and len(ask(limit=limit + 1)) > limit
    notes = [f"{limit} of more; --limit shows further ones."] * is_cut
    if problems:
        lines, are = counted(len(problems), "line"), "is" if len(problems) == 1 else "are"
        notes.append(f"{lines} of knowledge/facts {are} not read: `memfolio status` tells which")
    document = {"facts": list(map(_document, found)), "is_cut": is_cut, "problems": problems}
    shown: Line = _table(found) if found else ("There are no such facts.", "bold")
    return Answer(document, [shown, *yellow(notes)])


def fact_show(memory: Memory, id: str) -> Answer:
    document = _document(memory.facts.get(id))
    lines = []
    for name, value in document.items():
        if name == "confidence" or value not in (None, [], 0, False):
            words = ", ".join(value) if isinstance(value, list) else _sure(value) if name == "confidence" else value
            lines.append(f"{name.replace('_', ' '):<18} {words}")
    return Answer(document, lines)


def fact_explain(memory: Memory, id: str, depth: int = 3, mermaid: bool = False) -> Answer:
    from memfolio.knowledge.tree import as_document, as_mermaid, as_text

    node = memory.facts.explain(id, depth=depth)
    return Answer({"fact": id, "tree": as_document(node)}, as_mermaid(node) if mermaid else as_text(node))


def fact_history(memory: Memory, id: str) -> Answer:
    from memfolio.knowledge.facts import entry_json

    rows, entries = [], []
    for each in memory.facts.history(id):
        fact, entry = each.fact, entry_json(each)
        known = (_sure(fact.confidence), fact.source, _span(fact)) if fact else ("", "", "")
        entries.append(entry)
        rows.append((entry["at"], entry["op"], *known, entry["id"]))
    return Answer({"history": entries}, table(("at", "op", "sure", "source", "holds", "line"), rows, wide="source"))


def fact_verify(
    options: Options,
    id: str,
    method: str = "consistency_check",
    confirmed: bool | None = None,
    adjust: bool = False,
) -> Answer:
    if method == "user_confirmation" and confirmed is None:
        raise InputError(f"nobody has said whether {id[:80]} is so", hint="add --yes or --no")
    with options.memory() as memory:
        found = memory.verify_fact(id, method, confirmed=confirmed, adjust=adjust, by=PERSON)
    against = [str(each) for each in found.contradictions]
    document = picked(found, "verified confidence reason") | {
        "fact": id,
        "method": found.method.value,
        "against": against,
        "supports": list(found.supports),
    }
    line = f"{'Verified' if found.verified else 'Not verified'}: {found.reason}"
    return Answer(document, [(line, "bold"), *(f"  against it: {each}" for each in against)])


@makes_home
def fact_import(memory: Memory, file: str, dry_run: bool = False) -> Answer:
    from memfolio.knowledge.facts import MOST

    count, problems = 0, list[str]()
    good = _read(_lines(file), memory, problems)
    while some := list(islice(good, MOST)):
        count += len(some) if dry_run else len(memory.facts.assert_many(some, by=PERSON))
    done = f"{'Would assert' if dry_run else 'Asserted'} {counted(count, 'fact')}."
    document = {"facts": count, "problems": problems}
    return Answer(document, [*yellow(problems), (done, "bold")], status=1 if problems else 0)


def _lines(file: str) -> Iterable[bytes]:
    try:
        return sys.stdin.buffer if file == "-" else BytesIO(Path(file).read_bytes())
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}", hint="name a file of JSON lines") from error


def _read(lines: Iterable[bytes], memory: Memory, problems: list[str]) -> Iterator[dict[str, Any]]:
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
        found = map(_document, memory.facts.all(subject, predicate, object, include_untrusted=True))
        records = ({name: each[name] for name in GIVEN if each.get(name) is not None} for each in found)
        if options.as_json:
            return Answer({"facts": list(records)}, [])
        # Written as they are read: a home may have more facts than fit into memory.
        options.wait.stop()
        for each in records:
            sys.stdout.write(json.dumps(each, ensure_ascii=False) + "\n")
    return Answer({}, [])


def fact_traverse(
    memory: Memory,
    start: str,
    steps: list[str],
    hops: int = 6,
    limit: int = 100,
    valid_at: datetime | None = None,
    mermaid: bool = False,
) -> Answer:
    ask = memory.questions
    found = ask.traverse(None if start == "*" else start, steps, valid_at=valid_at, limit=limit, hops=hops)
    return _paths(ask, found.paths, documents.paths(ask, found), mermaid=mermaid)


def fact_impact(
    memory: Memory, what: str, hops: int = 6, valid_at: datetime | None = None, mermaid: bool = False
) -> Answer:
    ask = memory.questions
    found = ask.impact(what, valid_at=valid_at, hops=hops)
    paths = [path for each in found.kinds.values() for path in each]
    return _paths(ask, paths, documents.impact(ask, found), mermaid=mermaid)


def _paths(ask: Questions, paths: Sequence[FactPath], document: dict[str, Any], *, mermaid: bool) -> Answer:
    from memfolio.knowledge.traverse import as_mermaid, as_text

    if mermaid:
        drawn = as_mermaid(paths)
        return Answer(document | {"mermaid": drawn}, drawn)
    cite = ask.ids(hop.cited for path in paths for hop in path.hops).__getitem__
    kinds = {node: f"{kind}: " for kind, nodes in document.get("kinds", {}).items() for node in nodes}
    lines = [kinds.get(path.nodes[-1], "") + as_text(path, cite) for path in paths]
    lines += [f"falls: {each['fact']} ({each['id']})" for each in document.get("conclusions", ())]
    lines = lines or ["Nothing was found."]
    return Answer(document, lines + ["There is more; narrow the question or raise --limit."] * document["is_cut"])


def fact_count(memory: Memory, conditions: str, by: str = "agent", valid_at: datetime | None = None) -> Answer:
    ask = memory.questions
    found = ask.aggregate(conditions, by=by, valid_at=valid_at)
    document = documents.groups(ask, found)
    rows = [
        (value, len(members), ", ".join(each["node"] for each in members))
        for value, members in document["groups"].items()
    ]
    notes = [*found.problems, *["There is more than was counted."] * found.is_cut]
    return Answer(document, [table((by, "count", "which"), rows, wide="which", none="Nothing fits."), *yellow(notes)])


def fact_misfits(memory: Memory, strict: bool = False, valid_at: datetime | None = None) -> Answer:
    found = memory.questions.validate(strict=strict, valid_at=valid_at)
    ids = memory.questions.ids(each.cited for each in found)
    findings = [{"fact": ids[each.cited], "agent": each.cited.agent, "problem": str(each)} for each in found]
    lines = [f"{each['problem']} ({each['fact']})" for each in findings] or ["All facts of the base model fit it."]
    return Answer({"findings": findings}, lines, status=1 if found else 0)


def _document(fact: Fact) -> dict[str, Any]:
    from memfolio.knowledge.facts import fact_json

    return fact_json(fact)


def _table(found: Sequence[Fact]) -> Line:
    """Facts as a table, with the columns that say something."""
    spans = [_span(each) for each in found]
    columns = {
        "id": [each.id for each in found],
        "subject": [each.subject for each in found],
        "predicate": [each.predicate for each in found],
        "object": [each.object for each in found],
        "sure": [_sure(each.confidence) for each in found],
        "source": [each.source for each in found] if any(each.source != "manual" for each in found) else [],
        "holds": spans if any(spans) else [],
    }
    shown = {name: column for name, column in columns.items() if column}
    return table(tuple(shown), list(zip(*shown.values(), strict=True)), wide="object")


def _sure(confidence: float) -> str:
    return f"{confidence:.4g}"


def _span(fact: Fact) -> str:
    """When a fact holds; nothing where it always does."""
    from memfolio.knowledge.join import BEGINNING, END
    from memfolio.knowledge.tree import span_text

    start, end = fact.valid_from_us, fact.valid_until_us
    return span_text(BEGINNING if start is None else start, END if end is None else end)
