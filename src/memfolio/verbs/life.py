"""The verbs by which a memory is looked after, and those for the beginning and the end of a conversation."""

from __future__ import annotations

from memfolio.memory import Memory
from memfolio.verbs.verb import OnProgress, Verb, only_in_python

HOST = "the hooks of the host do that for the agent"


def memory_tend(
    memory: Memory, jobs: list[str] | None = None, dry_run: bool = False, on_progress: OnProgress | None = None
) -> dict[str, object]:
    """Look after the memory: run the jobs that are due by the clock, or these at once. It may take minutes."""
    from memfolio.verbs.documents import fields_of

    return fields_of(memory.tend(jobs=jobs or (), dry_run=dry_run, on_progress=on_progress))


def memory_reindex(memory: Memory, on_progress: OnProgress | None = None) -> dict[str, int]:
    """Build the search index anew from the files, which stay as they are; for when searches miss what is there."""
    return {"files": memory.reindex(lambda done, total: on_progress and on_progress("files", done, total))}


HERE = "it names a folder on the machine of the home, where `memfolio watch` does it"

VERBS = (
    Verb(does=memory_tend, effect="remove", slow=True, words="maintenance jobs cleanup"),
    Verb(does=memory_reindex, effect="change", once=True, slow=True, words="rebuild search index"),
    Verb(does="tend", effect="remove", slow=True, lacks={"mcp": "there it is called memory_tend"}),
    Verb(does="consolidate", effect="change", slow=True, lacks={"mcp": "there it is called memory_consolidate"}),
    Verb(does="flush", effect="add", slow=True, lacks={"mcp": HOST}),
    Verb(does="should_flush", effect="read", lacks={"mcp": HOST}),
    Verb(does="load_context", effect="read", lacks={"mcp": HOST}),
    Verb(does="save_context", effect="change", slow=True, lacks={"mcp": HOST}),
    Verb(does="sync", effect="change", once=True, slow=True, lacks={"mcp": "an open memory notices edits by itself"}),
    Verb(does="core.read", effect="read", words="identity always pinned core memory"),
    Verb(does="core.add", effect="add", words="identity always core memory line"),
    Verb(does="core.replace", effect="remove", words="identity change core memory line"),
    Verb(does="core.remove", effect="remove", words="identity delete core memory line"),
    Verb(does="notes.folders", effect="read", words="watched notes folder vault obsidian logseq markdown"),
    Verb(does="cost", effect="read", words="tokens spent money bill told usage"),
    only_in_python("notes.watch", "change", HERE),
    only_in_python("notes.stop", "change", HERE),
    only_in_python("digest", "change", "elsewhere it is called memory_build_hierarchy"),
    only_in_python("reindex", "change", "elsewhere it is called memory_reindex"),
    only_in_python("weak", "read", "elsewhere it is called weak_facts"),
    only_in_python("heartbeat", "remove", "elsewhere it is called bdi_heartbeat"),
    only_in_python("find", "read", "elsewhere `get` and `explain` tell where a memory is"),
    only_in_python("update", "remove", "elsewhere `correct` does it"),
    only_in_python("end_session", "add", "`tend` does it for sessions that are over"),
    only_in_python("episode", "add", "the end of a session makes episodes"),
    only_in_python("heed", "change", "another name for `act_on`"),
    only_in_python("used", "change", "`recall` notes what is used"),
    only_in_python("archive", "change", "old memories are archived by `tend`"),
    only_in_python("backup", "read", "it writes a file on the machine of the home"),
)
