"""The commands `import`, `export` and `watch`: take memories in, give them out, or read notes in place."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memfolio.errors import InputError, MemfolioError, NotFoundError
from memfolio.serve.cli.call import PERSON, Answer, Options, in_empty_folder, is_home, leave_logging_to_us
from memfolio.serve.cli.output import Line, picked, seq_of, yellow
from memfolio.text import counted, joined
from memfolio.vault.paths import check_agent

if TYPE_CHECKING:
    from memfolio.embed.vectorizer import Embedded
    from memfolio.exchange.take_in import ImportReport
    from memfolio.memory import Memory
    from memfolio.stores.notes import WatchedFolder

FLAWS = 20
"""How many flaws a person is shown."""


def import_(
    options: Options,
    path: Path,
    source: str | None = None,
    untrusted: bool = False,
    dry_run: bool = False,
) -> Answer:
    path = path.expanduser().absolute()
    from memfolio.exchange.reading import check_apart
    from memfolio.exchange.restore import is_archive
    from memfolio.exchange.sources import source_of
    from memfolio.exchange.take_in import take_in

    if source == "memfolio" or (source is None and is_archive(path)):
        return _restored(options, path, dry_run=dry_run, untrusted=untrusted)
    found = source_of(path, source)
    check_apart(path, options.config(create=in_empty_folder).home)
    reports: dict[str | None, tuple[ImportReport, Embedded]] = {}
    for agent, place in _agents(options, found.name, path).items():
        with _receiving(replace(options, agent=agent), dry_run=dry_run) as memory:
            progress = partial(options.wait.step, "things", f"Importing from {found.name}")
            report = take_in(memory, found, place, dry_run=dry_run, untrusted=untrusted, progress=progress)
            reports[agent] = report, _embedded(options, memory, dry_run=dry_run)
    return _answer(reports, dry_run=dry_run)


def _embedded(options: Options, memory: Memory, *, dry_run: bool = False) -> Embedded:
    """Embed imported memories, and others that are not embedded; until then, only their words are searched."""
    from memfolio.embed.vectorizer import Embedded

    if dry_run:
        return Embedded()
    try:
        return memory.searcher.embed(partial(options.wait.step, "memories", "Embedding"))
    except MemfolioError as error:  # what came is safe, and `tend` tries again
        return Embedded(missing=memory.searcher.missing_vectors(), degraded=error.message)


def _document(embedded: Embedded) -> dict[str, Any]:
    why = [embedded.degraded] if embedded.degraded else []
    return {"embedded": embedded.made, "not_embedded": embedded.missing, "degraded": why}


def _missing(embedded: Embedded) -> list[Line]:
    if not embedded.missing:
        return []
    missing = f"{counted(embedded.missing, 'memory is', 'memories are')} not embedded: {embedded.degraded}"
    return yellow([f"{missing}; they are found by their words, and `memfolio tend` tries again"])


@contextmanager
def _receiving(options: Options, *, dry_run: bool) -> Iterator[Memory]:
    """The memory that things come into; a dry run before there is a home takes an empty one, which is thrown away."""
    config = options.config(create=in_empty_folder)
    is_there = is_home(config)
    if dry_run and not is_there:
        from memfolio.bench.scratch import scratch

        leave_logging_to_us()
        with scratch(config.agent, speaker=config.speaker or "owner", git_enabled=False) as memory:
            yield memory
    else:
        with options.memory(create=in_empty_folder) as memory:
            options.tell([] if is_there or options.as_json else [f"made a home in {config.home}"])
            yield memory


def _agents(options: Options, source: str, path: Path) -> dict[str | None, Path]:
    """Return which agent imports what: in a workspace with several agents, each imports its own."""
    from memfolio.exchange.sources.folders import agents_of

    found = agents_of(path) if source == "mabos" else {}
    if len(found) < 2:
        return {options.agent: path}
    if options.agent:
        raise InputError(f"{path} has several agents: {', '.join(found)}", hint="name the folder of one, or no --agent")
    return {check_agent(name): place for name, place in found.items()}


def _restored(options: Options, path: Path, *, dry_run: bool, untrusted: bool) -> Answer:
    from memfolio.exchange.restore import restore

    if untrusted:
        hint = "import it without --untrusted for an agent of its own: `memfolio --agent NAME import FILE`"
        raise InputError(f"{path} can only come back as a whole, trusted as it was", hint=hint)
    with _receiving(options, dry_run=dry_run) as memory:
        found = restore(memory, path, dry_run=dry_run)
        watched = () if dry_run else _watches(memory, found.agents)
    embedded = _embedded_agents(options, () if dry_run else found.agents)
    came = f"{counted(found.written, 'file')} of {', '.join(found.agents)} {'would come' if dry_run else 'came'} back"
    left = f"; left as they are: {', '.join(found.left)}" if found.left else ""
    back = f"; `memfolio undo {' '.join(map(str, found.seqs))}` undoes it" if found.seqs else ""
    line = f"{came}, {counted(found.known, 'other')} already there{left}{back}"
    document = {**asdict(found), **_document(embedded), "dry_run": dry_run}
    stop = [
        f"It searches the notes in {each}, too; `memfolio watch {shlex.quote(each)} --stop` ends that"
        for each in watched
    ]
    return Answer(document, [*_missing(embedded), (line, "bold"), *yellow(stop)])


def _embedded_agents(options: Options, agents: Iterable[str]) -> Embedded:
    """Make the vectors of several agents' memories."""
    from memfolio.embed.vectorizer import Embedded

    found = list[Embedded]()
    for agent in agents:
        with replace(options, agent=agent).memory() as memory:
            found.append(_embedded(options, memory))
    return Embedded(
        made=sum(each.made for each in found),
        missing=sum(each.missing for each in found),
        degraded=next((each.degraded for each in found if each.degraded), None),
    )


def _answer(reports: Mapping[str | None, tuple[ImportReport, Embedded]], *, dry_run: bool) -> Answer:
    """Describe what was imported, for each agent if there are several."""
    documents = {
        str(agent): {**asdict(report), **_document(embedded), "dry_run": dry_run}
        for agent, (report, embedded) in reports.items()
    }
    lines: list[Line] = []
    for agent, (report, embedded) in reports.items():
        lines += [f"{agent}:"] if len(reports) > 1 else []
        lines += [*_missing(embedded), *_came(report, dry_run=dry_run)]
    return Answer(documents if len(documents) > 1 else next(iter(documents.values())), lines)


def _came(report: ImportReport, *, dry_run: bool) -> Iterator[Line]:
    yield from report.shown if dry_run else ()
    flaws = [f"{flaw.ref}: {flaw.why}" for flaw in report.flaws[:FLAWS]]
    if len(report.flaws) > FLAWS:
        flaws.append(f"and {counted(len(report.flaws) - FLAWS, 'other flaw')}; --json lists all")
    yield from yellow(flaws)
    if report.gone:
        some = f"{', '.join(report.gone[:FLAWS])}{', …' if len(report.gone) > FLAWS else ''}"
        known = counted(len(report.gone), "thing that came before is", "things that came before are")
        yield from yellow([f"{known} gone from the source, and kept here: {some}"])
    yield _sentence(report, dry_run=dry_run), "bold"


def _sentence(report: ImportReport, *, dry_run: bool) -> str:
    parts = [
        counted(number, one, several)
        for number, one, several in (
            (report.taken, "memory", "memories"),
            (report.changed, "corrected memory", "corrected memories"),
            (report.pages, "page", "pages"),
            (report.facts, "fact", "facts"),
            (report.lore, "rule or case", "rules and cases"),
        )
        if number
    ]
    known = f"; {counted(report.known, 'other')} already imported" if report.known else ""
    if not parts:
        return f"Nothing new from {report.source}{known}."
    came = joined(parts)
    if dry_run:
        return f"{came} would be imported from {report.source}{known}. Nothing was changed."
    back = f"`memfolio undo --source import:{report.source}` undoes it"
    return f"{came} imported from {report.source} in {report.took:.1f} s{known}; {back}"


def export(
    options: Options, target: Path, as_: str | None = None, whole_home: bool = False, dry_run: bool = False
) -> Answer:
    from memfolio.exchange.export import export as write
    from memfolio.exchange.export import form_named

    form = as_ or form_named(target)
    progress = partial(options.wait.step, "files", f"Exporting to {target.name}")
    with options.memory() as memory:
        place = target.expanduser()
        done = write(memory, place, form, whole_home=whole_home, dry_run=dry_run, progress=progress)
        watched = _watches(memory, done.agents)
    document = {"path": done.target, "as": form, **picked(done, "agents files left_out"), "dry_run": dry_run}
    lines: list[Line] = [f"left out: {path} {why}" for path, why in done.left_out.items()]
    lines += [f"The notes in {each} are not in it: they stay where they are." for each in watched]
    what = f"{counted(done.files, 'file')} of {', '.join(done.agents)}"
    said = f"would be exported to {done.target}. Nothing was written." if dry_run else f"exported to {done.target}"
    return Answer(document, [*lines, (f"{what} {said}", "bold")])


def _watches(memory: Memory, agents: Iterable[str]) -> list[str]:
    """The folders of notes that these agents watch."""
    return list(dict.fromkeys(each for agent in agents for each in memory.vault.settings(agent).watches))


FOLDER = "path notes blocks problems missing"


def watch(options: Options, folder: Path | None = None, /, stop: bool = False, dry_run: bool = False) -> Answer:
    from memfolio.serve.cli.world import command_for

    if folder is None and stop:
        raise InputError("name the folder to stop watching", hint="`memfolio watch` lists them")
    if folder and not stop and not folder.expanduser().is_dir():  # before a home is made for it
        raise NotFoundError(f"there is no folder {folder}", hint="name the folder that holds the notes")
    with _receiving(options, dry_run=dry_run) if folder and not stop else options.memory() as memory:
        if folder is None:
            found = memory.notes.folders()
            lines = [line for each in found for line in _watched(each)]
            document = {"folders": [picked(each, FOLDER) for each in found]}
            return Answer(document, lines or ["No watched folders; `memfolio watch DIR` adds one."])
        change = memory.notes.stop if stop else memory.notes.watch
        done = change(folder.expanduser(), dry_run=dry_run, by=replace(PERSON, trigger="watch"))
        embedded, home = _embedded(options, memory, dry_run=dry_run or stop), memory.vault.config.home
    seq, be = seq_of(done), "is" if done.notes == 1 else "are"
    if stop:
        state = "would no longer be searched" if dry_run else f"{be} no longer searched"
    else:
        state = "would be searched in place" if dry_run else f"{be} searched in place"
    words, back = ("watch", done.path, *([] if stop else ["--stop"])), "watches them again" if stop else "ends that"
    rest = f"; `{command_for(home, *words)}` {back}" if seq else ". Nothing was changed." if dry_run else ""
    passed = [] if stop else yellow(_passed_over(done.path))
    lines = [*_missing(embedded), *_watched(done), *passed, (f"{counted(done.notes, 'note')} {state}{rest}", "bold")]
    return Answer({**picked(done, FOLDER), **_document(embedded), "seq": seq, "dry_run": dry_run}, lines)


def _passed_over(folder: str) -> Iterator[str]:
    """Say which texts in a folder are no notes."""
    from memfolio.vault.folders import ENDINGS, others_below

    if others := others_below(folder):
        kinds = ", ".join(f"{count} {ending}" for ending, count in sorted(others.items()))
        files = counted(others.total(), "file is", "files are")
        yield f"{files} passed over ({kinds}): notes end in {' or '.join(ENDINGS)}"


def _watched(folder: WatchedFolder) -> Iterator[Line]:
    yield f"{folder.path}  {counted(folder.notes, 'note')}"
    flaws = [f"{path} {why}" for path, why in folder.problems.items()]
    more = [f"and {counted(len(flaws) - FLAWS, 'other file')}; --json lists all"] if len(flaws) > FLAWS else []
    yield from yellow([*([f"{folder.path} {folder.missing}"] if folder.missing else []), *flaws[:FLAWS], *more])
