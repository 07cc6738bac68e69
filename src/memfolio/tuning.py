"""What can be tuned in recall and in the life of a memory: every weight and switch with its default and its range.

The fields are the keys of `memfolio.toml` too: `Ranking.vector` is `recall.vector`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from memfolio.policy import PRESETS, are_rows

PERSONAL = ("email", "phone", "iban", "card", "ip")
"""The kinds of personal data that can be taken out of texts."""


def _weight(default: float, doc: str, high: float = 10.0) -> Any:
    return field(default=default, metadata={"doc": doc, "low": 0.0, "high": high})


def _share(default: float, doc: str) -> Any:
    return _weight(default, doc, 1.0)


def _count(default: int, doc: str, low: int, high: int) -> Any:
    return field(default=default, metadata={"doc": doc, "low": low, "high": high})


def _switch(default: bool, doc: str) -> Any:
    return field(default=default, metadata={"doc": doc})


def _span(default: timedelta, doc: str) -> Any:
    return field(default=default, metadata={"doc": doc, "low": timedelta(0), "high": timedelta(days=36500)})


def _one_of(default: str, choices: tuple[str, ...], doc: str) -> Any:
    wanted = f"one of {', '.join(choices[:-1])} or {choices[-1]}"
    return field(default=default, metadata={"doc": doc, "wanted": wanted, "accepts": choices.__contains__})


def _text(default: str, doc: str, wanted: str, accepts: Callable[[str], object]) -> Any:
    return field(default=default, metadata={"doc": doc, "wanted": wanted, "accepts": accepts})


def _phrases(doc: str) -> Any:
    return field(
        default=(),
        metadata={
            "doc": doc,
            "wanted": "a list of phrases of 1 to 100 characters",
            "accepts": lambda given: all(0 < len(each.strip()) <= 100 for each in given),
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """How much each strategy of recall counts beside the others; a weight of 0 switches it off."""

    text: float = _weight(1.0, "How much the words count.")
    spread: float = _share(0.5, "How much of a memory's words the turn beside it has; the next one has half of that.")
    vector: float = _weight(0.5, "How much the meaning counts.")
    session: float = _weight(0.2, "How much the best words, and once more the best meaning, of a session count.")
    speaker: float = _weight(0.6, "How much it counts that somebody said it whom the question names.")
    date: float = _weight(0.6, "How much it counts that it happened when the question says.")
    owner: float = _weight(0.5, "How much counts against what a machine said, unless that is asked for.")
    told: float = _weight(0.1, "How much counts for what a machine said where that is asked for.")
    when: float = _weight(0.2, "How much it counts, where a time is asked for, that a memory tells one.")
    time: float = _weight(0.05, "How much it counts in every question that a memory tells a time.")
    name: float = _weight(0.2, "How much it counts, where somebody, something or a place is asked for, to name one.")
    number: float = _weight(0.2, "How much it counts, where a number is asked for, that a memory tells one.")
    personal: float = _weight(0.1, "How much it counts that people speak of themselves.")
    echo: float = _share(
        0.7,
        "How much of its score a question asked before loses; unless 0, it comes behind all that tells something.",
    )
    standing: float = _weight(0.2, "How much it counts that a memory says how somebody wants things from then on.")
    help: float = _weight(0.2, "How much more that counts where help is asked for.")
    entity: float = _weight(0.3, "How much it counts that a memory names a person or thing that the question names.")
    causal: float = _weight(0.3, "How much it counts, where a reason is asked for, to be cause or effect of the best.")
    temporal: float = _weight(0.1, "How much it counts, where a time is asked for, to stand before or behind the best.")
    link: float = _weight(0.5, "How much it counts, in a hop of `depth`, to be tied to a hit of the hop before.")
    digest: float = _weight(0.1, "How much it counts to lie in the time of a digest that fits.")
    procedure: float = _weight(0.2, "How much it counts, where a way to do something is asked for, to be one.")
    latest: float = _weight(0.5, "How much being recent counts where the latest is asked for.")
    recency: float = _weight(0.0, "How much being recent counts in every other question.")
    recency_days: float = field(
        default=30.0,
        metadata={"doc": "After how many days half of being recent is gone.", "low": 0.01, "high": 36500.0},
    )
    importance: float = _share(0.2, "By which share the most important ranks higher, and the least important lower.")
    confidence: float = _share(0.3, "By which share the least certain ranks lower.")
    trust: float = _share(0.1, "By which share a memory ranks lower that no person and no agent of theirs wrote.")
    expired: float = _share(0.3, "By which share a memory ranks lower that is no longer true, or not yet.")
    fading: float = _share(0.2, "By which share a fading memory ranks lower.")
    dormant: float = _share(
        1.0, "Which part of a dormant memory's score an awake one must reach to keep it out of sight."
    )
    originals: bool = _switch(
        True, "Whether what was learned from a conversation is left to those who ask for its kind, type, tag or entity."
    )
    summaries: float = _share(0.3, "By which share what only sums up other memories ranks lower.")
    diversity: float = _share(0.0, "How much a hit loses by being like those above it: maximal marginal relevance.")
    cut: float = _share(0.35, "The part of the best score that a hit without a word of the question must have.")
    breadth: int = _count(100, "How many candidates words bring, and how many meaning.", 10, 10_000)
    breadth_complex: int = _count(150, "The same for a question of many parts.", 10, 10_000)
    reach: int = _count(2, "How many ties of cause or time are followed from the best.", 0, 8)
    reach_complex: int = _count(4, "The same for a question of many parts.", 0, 8)
    hop_terms: int = _count(5, "How many words each hop of `depth` looks for.", 1, 32)
    hop_share: float = _share(0.25, "The share of the hits that each hop of `depth` may fill.")
    intent: bool = _switch(
        True, "Whether questions are sorted by what they ask for, such as a reason, a time or a person."
    )
    inline: bool = _switch(True, "Whether `type:decision` or `since:last_week` inside a question are filters.")


FORMS = ("exponential", "ebbinghaus")


@dataclass(frozen=True, slots=True, kw_only=True)
class Decay:
    """How memories fade: each rate is the share lost a day, and half is gone after 0.69 divided by it days."""

    episodic: float = _weight(0.0375, "How quickly events fade.")
    semantic: float = _weight(0.025, "How quickly facts fade.")
    procedural: float = _weight(0.03, "How quickly ways to do things fade.")
    opinion: float = _weight(0.03, "How quickly opinions fade.")
    explicit: float = _share(1.0, "What is remembered on purpose begins with this relevance.")
    detected: float = _share(0.7, "What is only overheard begins with this relevance.")
    inferred: float = _share(0.5, "What was concluded from other memories begins with this relevance.")
    use: float = field(
        default=10.0,
        metadata={"doc": "The more, the less being used keeps a memory awake.", "low": 1.0, "high": 1000.0},
    )
    active: float = _share(0.5, "The relevance below which a memory is fading.")
    dormant: float = _share(0.2, "The relevance below which a memory is dormant.")
    archived: float = _share(0.05, "The relevance below which a memory may be archived.")
    form: str = _one_of(
        "exponential",
        FORMS,
        "How relevance falls with the days: by a constant share, or ever slower as Ebbinghaus found.",
    )
    weak: float = _share(0.4, "The confidence, faded, below which a fact is shown as weak.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    """What goes into a context, and how much of it."""

    simple: int = _count(1000, "Tokens for a simple prompt where no budget is given.", 50, 1_000_000)
    complex: int = _count(3000, "Tokens for a prompt of many parts where no budget is given.", 50, 1_000_000)
    facts: float = _share(0.4, "The share of facts, decisions and preferences.")
    entities: float = _share(0.25, "The share of what is known about the people and things in question.")
    temporal: float = _share(0.25, "The share of what happened, in order.")
    evidence: float = _share(0.1, "The share of what the facts were concluded from.")
    least: float = _share(0.15, "The score below which a hit is not worth its tokens.")
    anchor: float = _share(0.45, "How much of a prompt the best hits must answer, by words and meaning, to be shown.")
    task: float = _share(0.5, "How much of its score has what only the task or the topics at hand find.")
    user: float = _weight(0.2, "By which share a memory about the user at hand ranks higher.")
    topic: float = _weight(0.1, "By which share a memory ranks higher for every topic at hand that it is about.")
    time: float = _weight(1.0, "By which share a memory of this very moment ranks higher.")
    time_days: float = field(
        default=7.0, metadata={"doc": "After how many days half of that is gone.", "low": 0.01, "high": 36500.0}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreTuning:
    """How much each store holds, and for how long."""

    working: int = _count(7, "How many memories are in working memory; the next one sends one to short-term.", 1, 1000)
    short_term: int = _count(
        200, "How many memories are in short-term memory; the least important leave first.", 1, 10**6
    )
    short_term_ttl: timedelta = _span(timedelta(hours=2), "How long a memory stays in short-term memory.")
    least_used: bool = _switch(False, "Whether the least recently used leaves working memory, else the oldest.")


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreTuning:
    """How long core memory, MEMORY.md, may be: all of it, and as a guide each of its blocks."""

    tokens: int = _count(
        3000, "Tokens, by estimate, that MEMORY.md may have; an edit past that is refused.", 100, 10**6
    )
    identity: int = _count(500, "Tokens meant for who the user is.", 0, 10**6)
    active: int = _count(1000, "Tokens meant for what goes on at the moment.", 0, 10**6)
    persona: int = _count(500, "Tokens meant for how to behave with the user.", 0, 10**6)
    critical: int = _count(1000, "Tokens meant for what must never be forgotten.", 0, 10**6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidation:
    """Which memories become long-term ones, and which of them belong together."""

    importance: float = _share(0.6, "From which importance on a memory is promoted.")
    uses: int = _count(2, "From how many uses on a memory is promoted, whatever its importance.", 1, 10**6)
    similarity: float = _share(0.3, "How alike the tags of two memories must be to be summed up together.")
    text_similarity: float = _share(0.3, "The same for the words of memories that have no tags.")
    summarize: bool = _switch(True, "Whether memories that belong together are summed up, else promoted one by one.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """What is learned from conversations once they are over."""

    enabled: bool = _switch(True, "Whether facts, preferences, people and things are learned from conversations.")
    idle: timedelta = _span(timedelta(minutes=30), "After which silence a conversation counts as over.")
    conflicts: str = _one_of(
        "supersede",
        ("supersede", "keep", "ask"),
        "What happens to a fact that a later one contradicts: it is replaced, both stay, or a person is asked.",
    )
    merge: float = _share(0.9, "How alike the names of two entities must be to be proposed as one.")
    mentions: int = _count(3, "How often something must be mentioned to get a summary.", 1, 10**6)
    pages: int = _count(2, "How often something must be mentioned to get a page of its own.", 1, 10**6)
    transcripts: bool = _switch(True, "Whether a page about each conversation is written to sessions/.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Triggers:
    """Phrases, beside the English ones, with which a person asks for something to be remembered or forgotten."""

    remember: tuple[str, ...] = _phrases("Further phrases that begin what is to be remembered.")
    forget: tuple[str, ...] = _phrases("Further phrases that begin what is to be forgotten.")
    reflect: tuple[str, ...] = _phrases("Further phrases that ask for memories to be looked through.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Flush:
    """When an agent whose context fills up should save what it knows."""

    window: int = _count(200_000, "Tokens that the context of the agent's model holds.", 1000, 10**8)
    reserve: int = _count(20_000, "Tokens kept free for the answer; never more than a quarter of the window.", 0, 10**8)
    soft: int = _count(4000, "How many tokens before that the time has come.", 0, 10**8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """After which time without use memories are archived; a span of zero is never. Nothing is deleted.

    What is pinned stays, whatever its age; importance counts before the kind.
    """

    episodic: timedelta = _span(timedelta(days=365), "After which time events are archived.")
    semantic: timedelta = _span(timedelta(0), "After which time facts are archived.")
    procedural: timedelta = _span(timedelta(0), "After which time ways to do things are archived.")
    opinion: timedelta = _span(timedelta(0), "After which time opinions are archived.")
    low: timedelta = _span(timedelta(days=90), "After which time what is of low importance is archived.")
    low_importance: float = _share(0.3, "Below which importance that is.")
    high: timedelta = _span(timedelta(0), "After which time what is of high importance is archived.")
    high_importance: float = _share(0.8, "From which importance on that is.")
    faded: bool = _switch(False, "Whether whatever has faded below `decay.archived` is archived as well.")
    sessions: timedelta = _span(timedelta(days=365), "After which time pages about conversations are archived.")
    checkpoints: timedelta = _span(timedelta(days=90), "After which time checkpoints are archived.")
    compress: timedelta = _span(timedelta(days=90), "After which time in the archive a log is compressed.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """Copies of the whole home beside it."""

    folder: str = _text(
        "",
        "The folder for backups; empty is none, and a relative path begins beside the home.",
        "a path outside of the home",
        lambda text: "\0" not in text,
    )
    keep: int = _count(7, "How many backups are kept.", 1, 1000)
    every: timedelta = _span(timedelta(days=30), "How often `tend` makes one.")


@dataclass(frozen=True, slots=True, kw_only=True)
class TendTuning:
    """When and how long the home is looked after."""

    hour: int = _count(3, "The hour after which the jobs of a day are due.", 0, 23)
    seconds: float = field(
        default=600.0, metadata={"doc": "After how many seconds no further job is begun.", "low": 1.0, "high": 86400.0}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Governing:
    """Who may do what."""

    preset: str = _one_of("balanced", tuple(PRESETS), "The table of who may do what.")
    rows: tuple[str, ...] = field(
        default=(),
        metadata={
            "doc": "Rows before those of the preset, as in `forget by agent from owner: propose`; the first decides.",
            "wanted": "a list of rows of the form `DEED by ROLE [from ORIGIN]: apply, propose or refuse`",
            "accepts": are_rows,
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposing:
    """How proposals are decided on."""

    review: str = _one_of(
        "batch",
        ("batch", "automatic", "manual"),
        "Who decides: the agent when a session starts, nobody for trusted agents that are sure, or only a person.",
    )
    confidence: float = _share(0.8, "From which confidence on a trusted agent's proposal is committed automatically.")
    expire: timedelta = _span(timedelta(days=30), "After which time an undecided proposal is dropped; zero is never.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflecting:
    """When an agent reflects, and how much it may say."""

    enabled: bool = _switch(True, "Whether `tend` makes reflections; each waits for approval.")
    threshold: int = _count(50, "From how many entries since the last reflection on `tend` makes one.", 1, 10**6)
    session: int = _count(40, "From how many turns on a conversation is reflected on at its end; 0 is never.", 0, 10**6)
    tokens: int = _count(8000, "Tokens, by estimate, that a reflection may have.", 500, 10**6)
    items: int = _count(7, "How many proposals each of its sections has at most.", 1, 1000)
    evolution: int = _count(2000, "Tokens, by estimate, that meta/evolution.md may have.", 200, 10**6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """What is taken out of a text before it is written or sent anywhere."""

    secrets: bool = _switch(True, "Whether keys, tokens, passwords and private keys are taken out.")
    personal: tuple[str, ...] = field(
        default=(),
        metadata={
            "doc": "Which personal data is taken out too: email, phone, iban, card, ip.",
            "wanted": "a list of email, phone, iban, card or ip",
            "accepts": lambda given: set(given) <= set(PERSONAL),
        },
    )
    allow: tuple[str, ...] = _phrases("Texts that look like secrets and are none.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Watching:
    """What the owner is told about without asking."""

    bytes: int = _count(10**9, "From how many bytes of files on a home has grown past its budget.", 10**4, 10**15)
    confidence: float = _share(0.9, "From which confidence on two facts that contradict each other raise an alert.")


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeTuning:
    """How far is concluded, and how cases are compared."""

    most: int = _count(1_000_000, "How many facts may follow from rules at once; more is an error.", 1, 10**8)
    depth: int = _count(10, "How many rules deep a proof is shown.", 1, 100)
    cases: int = _count(10_000, "How many cases are kept; beyond, the least important go.", 1, 10**7)
    beliefs: float = _share(0.6, "How much common beliefs count when cases are compared; common desires are the rest.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Minding:
    """How the mind of an agent is kept up to date by its heartbeat."""

    every: timedelta = _span(timedelta(minutes=30), "How often `tend` runs the heartbeat.")
    chunk: int = _count(50, "How many beliefs are looked at together.", 1, 10**6)
    certainty: float = _share(0.6, "From which certainty on two beliefs can be in conflict.")
    open_minded: timedelta = _span(timedelta(days=7), "After which silence an open-minded agent drops an intention.")
    cautious: timedelta = _span(timedelta(days=3), "After which silence a cautious agent drops an intention.")
    facts: float = _share(0.9, "From which confidence on a confirmed fact becomes a belief.")
    ahead: timedelta = _span(timedelta(days=1), "How long before its deadline something comes up by itself.")
    reminders: int = _count(5, "How many such things a context has at most.", 0, 100)
    keep: timedelta = _span(timedelta(days=30), "How long what is over stays on its page before it is archived.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Practising:
    """How ways to do things are learned, and when they are given up."""

    learn: bool = _switch(True, "Whether `tend` learns procedures from what went well.")
    window: int = _count(20, "How many of the latest runs decide how well a procedure works.", 1, 10**4)
    runs: int = _count(5, "How many runs there must be before a failing procedure is retired.", 1, 10**4)
    failing: float = _share(0.3, "Below which share of runs that went well it is retired.")
    retries: int = _count(2, "How often a step that fails is tried again where its page does not say.", 0, 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasoning:
    """How far problems are thought through."""

    samples: int = _count(10_000, "How many times a Monte Carlo method draws.", 100, 10**7)
    work: int = _count(1_000_000, "How many cases an exact method looks at before it gives up.", 1000, 10**9)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mirroring:
    """A TypeDB server that holds a copy of what is known; without an address there is none."""

    url: str = _text(
        "",
        "The address of the server's HTTP API, such as http://localhost:8000; empty is none.",
        "an http or https address without user name, query or fragment",
        lambda text: not text or re.fullmatch(r"https?://[\w.\[\]:-]+(?:/[\w./-]*)?", text, re.ASCII),
    )
    database: str = _text(
        "memfolio",
        "The database on the server.",
        "a name of letters, digits, _ and -",
        lambda text: 0 < len(text) <= 64 and text.isascii() and text.replace("_", "").replace("-", "").isalnum(),
    )
    username: str = _text("", "Who signs in there.", "a name", lambda text: text.isprintable() and len(text) <= 128)
    password: str = field(
        default="",
        repr=False,
        metadata={
            "doc": "The password for the TypeDB server; it is sent nowhere else and never shown.",
            "in_file": False,
            "is_secret": True,
        },
    )
    timeout: float = field(default=5.0, metadata={"doc": "Seconds to wait for an answer.", "low": 0.1, "high": 600.0})
    bytes: int = _count(4096, "How many bytes of a raw query's answer are shown.", 256, 10**7)
