"""The commands below `fact`: facts as subject, predicate and object, their proofs, and what depends on them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from io import BytesIO
from itertools import islice
from typing import TYPE_CHECKING, Any

from memfolio.errors import InputError, NotFoundError
from memfolio.serve.cli.call import PERSON, Answer, Options, read_bytes
from memfolio.serve.cli.output import document_of, picked, table, yellow
from memfolio.verbs import documents

if TYPE_CHECKING:
    from memfolio.index.facts import Fact
    from memfolio.knowledge.facts import FactHistoryEntry
    from memfolio.knowledge.join import ProofNode
    from memfolio.knowledge.traverse import Groups, Impact, Misfit, Paths, Questions
    from memfolio.knowledge.traverse import Path as FactPath
    from memfolio.knowledge.verify import Verification
    from memfolio.memory import Memory


def fact_retract(found: Sequence[Fact]) -> Answer:
    if not found:
        raise NotFoundError("there are no such facts to retract", hint="`memfolio fact query` shows which there are")
    return Answer({"facts": list(map(document_of, found))})


def fact_query(
    memory: Memory,
    subject: str | None = None,
    predicate: str | None = None,
    object: str | None = None,
    /,
    valid_at: str | None = None,
    asserted: bool = False,
    untrusted: bool = False,
    limit: int = 50,
    min_confidence: float = 0.0,
    as_of: datetime | None = None,
    category: str | None = None,
    source: str | None = None,
) -> Answer:
    from memfolio.knowledge.facts import MOST
    from memfolio.verbs.verb import as_moment

    at = valid_at if valid_at in (None, "any") else as_moment(memory, "valid_at", valid_at)
    ask = partial(memory.facts.query, subject, predicate, object, valid_at=at, as_of=as_of, category=category)
    ask = partial(ask, min_confidence=min_confidence, source=source)
    ask = partial(ask, include_derived=not asserted, include_untrusted=untrusted)
    found = ask(limit=limit + 1 if 0 < limit < MOST else limit)
    facts, problems = list(map(document_of, found[:limit])), memory.facts.problems()
    return Answer({"facts": facts, "is_cut": len(found) > limit, "problems": problems})


def fact_explain(node: ProofNode, id: str, mermaid: bool = False) -> Answer:
    from memfolio.knowledge.join import as_document, as_mermaid, as_text

    return Answer({"fact": id, "tree": as_document(node)}, as_mermaid(node) if mermaid else as_text(node))


def fact_history(history: Sequence[FactHistoryEntry]) -> Answer:
    from memfolio.knowledge.facts import entry_json

    return Answer({"history": list(map(entry_json, history))})


def fact_verify(found: Verification, id: str) -> Answer:
    document = picked(found, "verified confidence reason supports") | {"fact": id, "method": found.method.value}
    return Answer(document | {"against": list(map(str, found.contradictions))})


def fact_import(memory: Memory, file: str, dry_run: bool = False) -> Answer:
    from memfolio.knowledge.facts import MOST

    count, problems = 0, list[str]()
    good = _read(BytesIO(read_bytes(file, "name a file of JSON lines")), memory, problems)
    while some := list(islice(good, MOST)):
        count += len(some) if dry_run else len(memory.facts.assert_many(some, by=PERSON))
    return Answer({"facts": count, "problems": problems}, status=1 if problems else 0)


def _read(lines: Iterable[bytes], memory: Memory, problems: list[str]) -> Iterator[dict[str, Any]]:
    """Read the facts of a file, without fields that only a ledger or an export has."""
    from memfolio.knowledge.facts import GIVEN, assertion
    from memfolio.vault.lines import read_object

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
        found = map(document_of, memory.facts.all(subject, predicate, object, include_untrusted=True))
        records = ({name: each[name] for name in GIVEN if each.get(name) is not None} for each in found)
        if options.as_json:
            return Answer({"facts": list(records)}, [])
        # Written as they are read: a home may have more facts than fit into memory.
        options.wait.stop()
        for each in records:
            sys.stdout.write(json.dumps(each, ensure_ascii=False) + "\n")
    return Answer({}, [])


def fact_traverse(found: Paths, memory: Memory) -> Answer:
    return _paths(memory.questions, found.paths, documents.paths(memory.questions, found))


def fact_impact(found: Impact, memory: Memory) -> Answer:
    paths = [path for each in found.kinds.values() for path in each]
    return _paths(memory.questions, paths, documents.impact(memory.questions, found))


def _paths(ask: Questions, paths: Sequence[FactPath], document: dict[str, Any]) -> Answer:
    from memfolio.knowledge.traverse import as_text

    cite = ask.ids(hop.cited for path in paths for hop in path.hops).__getitem__
    kinds = {node: f"{kind}: " for kind, nodes in document.get("kinds", {}).items() for node in nodes}
    lines = [kinds.get(path.nodes[-1], "") + as_text(path, cite) for path in paths]
    lines += [f"falls: {each['fact']} ({each['id']})" for each in document.get("conclusions", ())]
    lines = lines or ["Nothing was found."]
    return Answer(document, lines + ["There is more; narrow the question or raise --limit."] * document["is_cut"])


def fact_count(found: Groups, memory: Memory, by: str) -> Answer:
    document = documents.groups(memory.questions, found)
    rows = [(value, len(each), ", ".join(one["node"] for one in each)) for value, each in document["groups"].items()]
    notes = [*found.problems, *["There is more than was counted."] * found.is_cut]
    return Answer(document, [table((by, "count", "which"), rows, wide="which", none="Nothing fits."), *yellow(notes)])


def fact_misfits(found: Sequence[Misfit], memory: Memory) -> Answer:
    ids = memory.questions.ids(each.cited for each in found)
    findings = [{"fact": ids[each.cited], "agent": each.cited.agent, "problem": str(each)} for each in found]
    return Answer({"findings": findings}, status=1 if found else 0)
