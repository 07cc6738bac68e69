"""The command `fact` with what is below it: what is known as subject, predicate and object, and why."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memfolio.errors import InputError, NotFoundError
from memfolio.serve.cli import traverse
from memfolio.serve.cli.call import PERSON, Answer, Command, DryRun, Options, group, in_empty_folder
from memfolio.serve.cli.output import Screen
from memfolio.serve.cli.times import read_moment
from memfolio.text import counted

if TYPE_CHECKING:
    from memfolio.index.facts import Fact
    from memfolio.memory import Memory

Term = Annotated[str, typer.Argument(show_default=False)]
Pattern = Annotated[str | None, typer.Argument(help="* and ? stand for anything.", show_default=False)]
Id = Annotated[str, typer.Argument(metavar="ID", help="Of a fact, or of a line about it.", show_default=False)]
MaybeId = Annotated[str | None, typer.Argument(metavar="ID", help="The fact.", show_default=False)]
Subject = Annotated[str | None, typer.Option(metavar="PATTERN", help="Of facts with this subject.")]
Predicate = Annotated[str | None, typer.Option(metavar="PATTERN", help="Of facts with this predicate.")]
Object = Annotated[str | None, typer.Option(metavar="PATTERN", help="Of facts with this object.")]
Confidence = Annotated[float | None, typer.Option(metavar="0..1", help="How sure it is; 1 unless known otherwise.")]
Source = Annotated[str | None, typer.Option(metavar="TEXT", help="Where it comes from.")]
Category = Annotated[str | None, typer.Option(metavar="TEXT", help="What it is filed under.")]
From = Annotated[
    str | None, typer.Option("--from", metavar="TIME", help="The day or moment from which it holds; '' for always.")
]
Until = Annotated[
    str | None, typer.Option("--until", metavar="TIME", help="Its last day, or the moment it ends; '' for no end.")
]
Memories = Annotated[list[str] | None, typer.Option("--memory", metavar="ID", help="A memory that it came from.")]
At = Annotated[str | None, typer.Option("--valid-at", metavar="TIME", help="When they hold; any for all, else now.")]
AsOf = Annotated[str | None, typer.Option("--as-of", metavar="TIME", help="What was known at that moment.")]
Least = Annotated[float, typer.Option("--min-confidence", metavar="0..1", help="How sure they are at least.")]
Asserted = Annotated[bool, typer.Option("--asserted", help="Without what follows by rules.")]
Untrusted = Annotated[bool, typer.Option("--untrusted", help="Also what strangers told.")]
Limit = Annotated[int, typer.Option(metavar="N", help="How many at most.")]
Depth = Annotated[int, typer.Option(metavar="N", help="How many steps back.")]
Mermaid = Annotated[bool, typer.Option("--mermaid", help="Print a diagram in Mermaid.")]
Method = Annotated[str, typer.Option(metavar="METHOD", help="user_confirmation, cross_reference, temporal_check, …")]
Confirmed = Annotated[bool | None, typer.Option("--yes/--no", help="Your answer, for user_confirmation.")]
Adjust = Annotated[bool, typer.Option("--adjust", help="Make the fact as sure as the check is.")]
File = Annotated[str, typer.Argument(metavar="FILE", help="JSON lines; - reads standard input.", show_default=False)]


def assert_(
    options: Options,
    subject: Term,
    predicate: Term,
    object: Term,
    confidence: Confidence = None,
    source: Source = None,
    category: Category = None,
    valid_from: From = None,
    valid_until: Until = None,
    memories: Memories = None,
) -> Answer:
    """Assert a fact, or update the one that says the same; what is not given stays as it is.

    An object such as -5 stands behind --.
    """
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


def retract(
    options: Options,
    id: MaybeId = None,
    subject: Subject = None,
    predicate: Predicate = None,
    object: Object = None,
    dry_run: DryRun = False,
) -> Answer:
    """Retract the facts to which everything applies that is given; their history is kept."""
    with options.memory() as memory:
        found = memory.facts.retract(id, subject, predicate, object, by=PERSON, dry_run=dry_run)
    if not found:
        raise NotFoundError("there are no such facts to retract", hint="`memfolio fact query` shows which there are")
    done = f"{'Would retract' if dry_run else 'Retracted'} {counted(len(found), 'fact')}."
    return many(found, done)


def query(
    options: Options,
    subject: Pattern = None,
    predicate: Pattern = None,
    object: Pattern = None,
    min_confidence: Least = 0.0,
    valid_at: At = None,
    as_of: AsOf = None,
    category: Category = None,
    source: Source = None,
    asserted: Asserted = False,
    untrusted: Untrusted = False,
    limit: Limit = 50,
) -> Answer:
    """Find facts; a pattern of * fits every subject, predicate or object."""
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


def show(options: Options, id: Id) -> Answer:
    """Show a fact with all that is known about it."""
    with options.memory() as memory:
        shown = document(memory.facts.get(id))

    def draw(screen: Screen) -> None:
        for name, value in shown.items():
            if name == "confidence" or value not in (None, [], 0, False):
                told = ", ".join(value) if isinstance(value, list) else _sure(value) if name == "confidence" else value
                screen.say(f"{name.replace('_', ' '):<18} {told}")

    return Answer(shown, draw)


def explain(options: Options, id: Id, depth: Depth = 3, mermaid: Mermaid = False) -> Answer:
    """Tell where a fact comes from, or by which rules and from which facts it follows."""
    from memfolio.knowledge.tree import as_document, as_mermaid, as_text

    with options.memory() as memory:
        node = memory.facts.explain(id, depth=depth)
    text = as_mermaid(node) if mermaid else as_text(node)
    return Answer({"fact": id, "tree": as_document(node)}, lambda screen: screen.say(text))


def history(options: Options, id: Id) -> Answer:
    """Show everything that was said of a fact, oldest first."""
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


def verify(
    options: Options,
    id: Id,
    method: Method = "consistency_check",
    confirmed: Confirmed = None,
    adjust: Adjust = False,
) -> Answer:
    """Check a fact, and note that it was checked."""
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


def import_(options: Options, file: File, dry_run: DryRun = False) -> Answer:
    """Assert the facts of a file, up to 100,000 as one change; wrong lines are told by their number and left out."""
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


def export(options: Options, subject: Subject = None, predicate: Predicate = None, object: Object = None) -> Answer:
    """Print facts as JSON lines that `fact import` reads; what follows by rules is not among them."""
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


assert_.__name__, import_.__name__ = "assert", "import"
FACT = (
    Command(
        assert_,
        "fact assert Acme hasRevenue 50000 --source cfo-report --confidence 0.9 --until 2026-12-31",
        "fact assert --source cfo-report Acme hasProfit -- -5",
    ),
    Command(retract, "fact retract --subject Acme --predicate 'has*' --dry-run"),
    Command(query, "fact query Acme", "fact query '*' locatedIn Lisbon --as-of 2026-11-01"),
    Command(show, "fact show F-1763217005123-5f2c91ab"),
    Command(explain, "fact explain D-8f1c2a7de0b93c55 --depth 5", "fact explain D-8f1c2a7de0b93c55 --mermaid"),
    Command(history, "fact history F-1763217005123-5f2c91ab"),
    Command(verify, "fact verify F-1763217005123-5f2c91ab --method user_confirmation --yes"),
    Command(import_, "fact import facts.jsonl --dry-run"),
    Command(export, "fact export --subject 'Acme*'"),
)
app = group(
    "fact",
    (*FACT, *traverse.COMMANDS),
)
