"""Every setting of a home, declared once: its type, default and bounds, and one sentence on what it is for.

A field made by `setting` (or a shorthand for it) can be set in `memfolio.toml`, in the environment and as an argument:
`Ranking.vector` is `recall.vector`, `MEMFOLIO_RECALL_VECTOR` and `recall_vector`. Reading, checking, the file of a new
home and the table in docs/configuration.md derive from that declaration. A plain field cannot be set by users; it is
there for code that varies it, such as the ablation of recall.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, field, fields, is_dataclass
from datetime import timedelta
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from memfolio import machine
from memfolio.clock import format_duration, parse_duration
from memfolio.policy import PRESETS, are_rows
from memfolio.types import AGENT_PATTERN, TOKEN_PATTERN, frozen

FORMAT = 1
"""The format of homes that this version reads and writes."""

MIB = 1024 * 1024

PERSONAL = ("email", "phone", "iban", "card", "ip")
"""The kinds of personal data that can be taken out of texts."""

FORMS = ("exponential", "ebbinghaus")

PROVIDERS = ("auto", "local", "openai", "gemini", "voyage", "http", "hashed", "none")
"""What can turn texts into vectors; `auto` takes the best that is there."""

MODELS = ("none", "agent", "host", "openai", "anthropic", "gemini")
"""The language models that can be asked: the agent itself, the program of its host, or a server; whatever speaks as
OpenAI's do is `openai` with an address."""

KEY_VARIABLES = {"openai": "OPENAI_API_KEY", "gemini": "GEMINI_API_KEY", "voyage": "VOYAGE_API_KEY"}
"""Where people have the keys of providers that need one."""

MODEL_VARIABLES = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "gemini": "GEMINI_API_KEY"}


def setting(
    default: object,
    low: object = None,
    high: object = None,
    *,
    wanted: str = "",
    accepts: Callable[[Any], object] = lambda _: True,
    **more: bool,
) -> Any:
    """A field that users can set; `more` are the flags of `Key`."""
    how = {"low": low, "high": high, "wanted": wanted, "accepts": accepts, **more}
    return field(default=default, repr=not more.get("is_secret"), metadata=how)


def _share(default: float) -> Any:
    return setting(default, 0.0, 1.0)


def _weight(default: float) -> Any:
    return setting(default, 0.0, 10.0)


def _span(default: timedelta) -> Any:
    return setting(default, timedelta(0), timedelta(days=36500))


def _choice(default: str, choices: tuple[str, ...]) -> Any:
    wanted = f"one of {', '.join(choices[:-1])} or {choices[-1]}"
    return setting(default, wanted=wanted, accepts=choices.__contains__)


def _phrases() -> Any:
    wanted = "a list of phrases of 1 to 100 characters"
    return setting((), wanted=wanted, accepts=lambda given: all(0 < len(each.strip()) <= 100 for each in given))


def _name() -> Any:
    wanted = "a name of at most 200 printable characters"
    return setting("", wanted=wanted, accepts=lambda text: len(text) <= 200 and text.isprintable())


def _address() -> Any:
    wanted = 'an address such as "http://localhost:11434/v1", without user name, query or fragment'
    return setting("", wanted=wanted, accepts=_is_address)


def _secret() -> Any:
    wanted = "a key of plain letters, digits and signs, without spaces"
    return setting("", wanted=wanted, accepts=_is_sendable, in_file=False, is_secret=True)


def _is_zone(name: str) -> bool:
    return name == "local" or machine.find_zone(name) is not None


def _is_branch(name: str) -> bool:
    parts = name.split("/")
    good = all(part and part[0] not in ".-" and not part.endswith((".", ".lock")) for part in parts)
    return good and name.isascii() and ".." not in name and all(c.isalnum() or c in "._-/" for c in name)


def _is_address(text: str) -> bool:
    if not text:
        return True
    parts = urlsplit(text)
    plain = text.isascii() and text.isprintable() and not {" ", "?", "#", "@"} & set(text)
    return plain and parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0


def _is_sendable(text: str) -> bool:
    return text.isascii() and text.isprintable() and " " not in text


@frozen
class GitSettings:
    """The history of the home."""

    enabled: bool = setting(True)
    """Whether every change is also committed to git."""
    branch: str = setting("main", wanted="the name of a git branch, in plain letters", accepts=_is_branch)
    """The branch that is committed to; on any other branch commits wait."""


@frozen
class EmbeddingSettings:
    """What turns texts into vectors."""

    provider: str = _choice("auto", PROVIDERS)
    """What turns texts into vectors; `auto` is the server at `embedding.url` if there is one, else `local`."""
    url: str = _address()
    """The address of a server, up to and without `/embeddings` or `/models`; empty is the provider's own."""
    url_is_own: bool = True
    """Whether the address is the user's word, in the environment or as an argument, or there is none but a default."""
    model: str = _name()
    """The name of the model that the server is asked for; empty is the provider's default."""
    path: Path | None = setting(None, wanted="a path, from the home on where it is relative")
    """The folder of a static model for `local`; by default the model that comes with the installation."""
    dimensions: int = setting(0, 0, 16_384)
    """How many numbers a server's vectors have, where its model lets one choose; 0 is the model's own."""
    batch: int = 100  # texts that are sent to a server at once
    budget: int = setting(
        0, wanted="0, or a whole number from 10000 on", accepts=lambda number: number == 0 or number >= 10_000
    )
    """How many tokens, by an estimate, one process sends to a server in a day; 0 is no limit."""
    timeout: float = setting(10.0, 0.1, 600)
    """How many seconds the server has for one answer."""
    key: str = _secret()
    """The key that the server asks for; it is sent nowhere else and never shown."""


@frozen
class ModelSettings:
    """The language model that is asked, where there is one."""

    provider: str = _choice("none", MODELS)
    """What learns and sums up beside rules: `agent` asks the agent of a host to learn, `host` its program."""
    name: str = _name()
    """The name of the model that the provider is asked for; of `host`, the host, or `HOST:MODEL`."""
    url: str = _address()
    """The address of a server that speaks as OpenAI's does, such as Ollama; empty is the provider's own."""
    url_is_own: bool = True
    """Whether the address is the user's word, as that of the embedding server."""
    timeout: float = setting(60.0, 0.1, 3600)
    """How many seconds the model has for one answer."""
    budget: int = setting(200_000, 0, 10**12)
    """How many tokens, sent and answered, all processes of the home may use in a day; 0 is no limit."""
    turns: int = setting(20, 1, 10_000)
    """How many turns of conversations there are for each question to the model; the rest is read by rules."""
    key: str = _secret()
    """The key that the provider asks for; it is sent nowhere else and never shown."""


@frozen
class Ranking:
    """How much each strategy of recall counts beside the others; a weight of 0 switches it off."""

    text: float = 1.0  # has the words
    spread: float = 0.5  # of a memory's words, for the turn beside it; the next one has half of that
    vector: float = _weight(1.2)
    """How much the meaning counts beside the words, which count 1."""
    session: float = 0.8  # the best words, and once more the best meaning, of a session
    speaker: float = 1.5  # said by somebody whom the question names
    date: float = 2.0  # happened when the question says
    owner: float = 1.4  # against what a machine said, unless that is asked for
    told: float = 1.0  # for what a machine said where that, or a summary, is asked for
    when: float = 1.2  # tells a time, where one is asked for
    time: float = 0.2  # tells a time, in every question
    name: float = 0.8  # names one, where somebody, something or a place is asked for
    number: float = 0.2  # tells a number, where one is asked for
    cover: float = 1.0  # of the question's words, the share that people say in it
    words: float = 0.2  # for each of the question's words in it
    around: float = 1.5  # the share of the question's words that the turns of people around it add
    reply: float = 1.5  # the share of the question's words in the question that it stands right behind
    asking: float = 0.4  # against what is no more than a short question
    echo: float = 0.7  # the share of its score a question asked before loses; unless 0, it comes behind what tells
    standing: float = 0.4  # says how somebody wants things from then on
    help: float = 1.9  # how much more that counts where help is asked for
    entity: float = _weight(0.6)
    """How much it counts that a memory names a person or thing that the question names."""
    causal: float = 0.6  # cause or effect of the best, where a reason is asked for
    temporal: float = 0.2  # before or behind the best, where a time is asked for
    link: float = 1.0  # tied to a hit of the hop before, in a hop of `depth`
    digest: float = 0.2  # lies in the time of a digest that fits
    procedure: float = 0.4  # is a way to do something, where one is asked for
    latest: float = 1.0  # recent, where the latest is asked for
    recency: float = _weight(0.0)
    """How much being recent counts where the latest is not asked for."""
    recency_days: float = 30.0  # after which half of being recent is gone
    importance: float = 0.2  # the share by which the most important ranks higher, and the least important lower
    confidence: float = 0.3  # the share by which the least certain ranks lower
    trust: float = 0.1  # the share by which what no person and no agent of theirs wrote ranks lower
    expired: float = 0.3  # the share by which what is no longer true, or not yet, ranks lower
    fading: float = 0.2  # the share by which a fading memory ranks lower
    dormant: float = 0.6  # the part of the best awake memory's score that a dormant one must have to be in sight
    originals: bool = setting(True)
    """Whether what rules learned is left to those who ask for its kind, type, tag or entity."""
    summaries: float = 0.3  # the share by which what only sums up other memories ranks lower
    diversity: float = _share(0.0)
    """How much a hit loses by being like those above it: maximal marginal relevance."""
    cut: float = _share(0.35)
    """The part of the best score that a hit without a word of the question must have."""
    fits: float = _share(0.077)
    """The fit from which on a hit is likely to answer; without one, contexts are empty."""
    breadth: int = 100  # candidates that words bring, and as many that meaning brings
    breadth_complex: int = 150  # the same for a question of many parts
    reach: int = setting(2, 0, 8)
    """How many ties of cause or time are followed from the best."""
    reach_complex: int = 4  # the same for a question of many parts
    hop_terms: int = 5  # words that each hop of `depth` looks for
    hop_share: float = 0.25  # the share of the hits that each hop of `depth` may fill
    intent: bool = True  # questions are sorted by what they ask for, such as a reason, a time or a person
    inline: bool = setting(True)
    """Whether `type:decision` or `since:last_week` inside a question are filters."""


@frozen
class Decay:
    """How memories fade: each rate is the share lost a day, and half is gone after 0.69 divided by it days."""

    episodic: float = _weight(0.0375)
    """How quickly events fade."""
    semantic: float = _weight(0.025)
    """How quickly facts fade."""
    procedural: float = _weight(0.03)
    """How quickly ways to do things fade."""
    opinion: float = _weight(0.03)
    """How quickly opinions fade."""
    explicit: float = 1.0  # the relevance with which what is remembered on purpose begins
    detected: float = 0.7  # the same for what is only overheard
    inferred: float = 0.5  # the same for what was concluded from other memories
    use: float = 10.0  # the more, the less being used keeps a memory awake
    active: float = _share(0.5)
    """The relevance below which a memory is fading."""
    dormant: float = _share(0.2)
    """The relevance below which a memory is dormant."""
    archived: float = _share(0.05)
    """The relevance below which a memory may be archived."""
    form: str = _choice("exponential", FORMS)
    """How relevance falls with the days: by a constant share, or ever slower as Ebbinghaus found."""
    weak: float = 0.4  # the confidence, faded, below which a fact is shown as weak


@frozen
class Packing:
    """What goes into a context, and how much of it."""

    simple: int = setting(1000, 50, 1_000_000)
    """Tokens for a simple prompt where no budget is given."""
    complex: int = setting(3000, 50, 1_000_000)
    """Tokens for a prompt of many parts where no budget is given."""
    facts: float = 0.4  # the share of facts, decisions and preferences
    entities: float = 0.25  # the share of what is known about the people and things in question
    temporal: float = 0.25  # the share of what happened, in order
    evidence: float = 0.1  # the share of what the facts were concluded from
    least: float = 0.0105  # the fit below which a hit is not worth its tokens
    broad: float = 0.5  # the part of that fit that is enough where much of what was said is asked for
    task: float = 0.5  # the part of its score that what only the task or the topics at hand find has
    user: float = 0.2  # the share by which a memory about the user at hand ranks higher
    topic: float = 0.1  # the same for every topic at hand that it is about
    time: float = 1.0  # the same for a memory of this very moment
    time_days: float = 7.0  # after which half of that is gone


@frozen
class StoreTuning:
    """How much each store holds, and for how long."""

    working: int = setting(7, 1, 1000)
    """How many memories are in working memory; the next one sends one to short-term."""
    short_term: int = setting(200, 1, 10**6)
    """How many memories are in short-term memory; the least important leave first."""
    short_term_ttl: timedelta = _span(timedelta(hours=2))
    """How long a memory stays in short-term memory."""
    least_used: bool = False  # the least recently used leaves working memory, else the oldest


@frozen
class CoreTuning:
    """How long core memory, MEMORY.md, may be: all of it, and as a guide each of its blocks."""

    tokens: int = setting(3000, 100, 10**6)
    """Tokens, by estimate, that MEMORY.md may have; an edit past that is refused."""
    identity: int = 500  # tokens meant for who the user is
    active: int = 1000  # for what goes on at the moment
    persona: int = 500  # for how to behave with the user
    critical: int = 1000  # for what must never be forgotten


@frozen
class Consolidation:
    """Which memories become long-term ones, and which of them belong together."""

    importance: float = _share(0.6)
    """From which importance on a memory is promoted."""
    uses: int = 2  # from which on a memory is promoted, whatever its importance
    similarity: float = 0.3  # how alike the tags of two memories must be to be summed up together
    text_similarity: float = 0.3  # the same for the words of memories that have no tags
    summarize: bool = True  # memories that belong together are summed up, else promoted one by one


@frozen
class Learning:
    """What is learned from conversations once they are over."""

    enabled: bool = setting(True)
    """Whether facts, preferences, people and things are learned from conversations."""
    idle: timedelta = _span(timedelta(minutes=30))
    """After which silence a conversation counts as over."""
    conflicts: str = _choice("supersede", ("supersede", "keep", "ask"))
    """What happens to a fact that a later one contradicts: it is replaced, both stay, or a person is asked."""
    merge: float = 0.9  # how alike the names of two entities must be to be proposed as one
    mentions: int = 3  # how often something must be mentioned to get a summary
    pages: int = 2  # how often something must be mentioned to get a page of its own
    transcripts: bool = setting(True)
    """Whether a page about each conversation is written to sessions/."""


@frozen
class Triggers:
    """Phrases, beside the English ones, with which a person asks for something to be remembered or forgotten."""

    remember: tuple[str, ...] = _phrases()
    """Further phrases that begin what is to be remembered."""
    forget: tuple[str, ...] = _phrases()
    """Further phrases that begin what is to be forgotten."""
    reflect: tuple[str, ...] = _phrases()
    """Further phrases that ask for memories to be looked through."""


@frozen
class Flush:
    """When an agent whose context fills up should save what it knows."""

    window: int = setting(200_000, 1000, 10**8)
    """Tokens that the context of the agent's model holds."""
    reserve: int = 20_000  # tokens kept free for the answer; never more than a quarter of the window
    soft: int = 4000  # how many tokens before that the time has come


@frozen
class Retention:
    """After which time without use memories are archived; a span of zero is never. Nothing is deleted.

    What is pinned stays, whatever its age; importance counts before the kind.
    """

    episodic: timedelta = _span(timedelta(days=365))
    """After which time without use events are archived; zero is never."""
    semantic: timedelta = _span(timedelta(0))
    """After which time facts are archived."""
    procedural: timedelta = _span(timedelta(0))
    """After which time ways to do things are archived."""
    opinion: timedelta = _span(timedelta(0))
    """After which time opinions are archived."""
    low: timedelta = _span(timedelta(days=90))
    """After which time what is of importance below 0.3 is archived."""
    low_importance: float = 0.3
    high: timedelta = _span(timedelta(0))
    """After which time what is of importance 0.8 or more is archived."""
    high_importance: float = 0.8
    faded: bool = setting(False)
    """Whether whatever has faded below `decay.archived` is archived as well."""
    sessions: timedelta = _span(timedelta(days=365))
    """After which time pages about conversations are archived."""
    checkpoints: timedelta = _span(timedelta(days=90))
    """After which time checkpoints are archived."""
    compress: timedelta = _span(timedelta(days=90))
    """After which time in the archive a log is compressed."""


@frozen
class Backup:
    """Copies of the whole home beside it."""

    folder: str = setting("", wanted="a path outside of the home", accepts=lambda text: "\0" not in text)
    """The folder for backups; empty is none, and a relative path begins beside the home."""
    keep: int = setting(7, 1, 1000)
    """How many backups are kept."""
    every: timedelta = _span(timedelta(days=30))
    """How often `tend` makes one."""


@frozen
class TendTuning:
    """When and how long the home is looked after."""

    hour: int = setting(3, 0, 23)
    """The hour after which the jobs of a day are due."""
    seconds: float = setting(600.0, 1.0, 86400.0)
    """After how many seconds no further job is begun."""


@frozen
class Governing:
    """Who may do what."""

    preset: str = _choice("balanced", PRESETS)
    """The table of who may do what."""
    rows: tuple[str, ...] = setting(
        (), wanted="a list of rows of the form `DEED by ROLE [from ORIGIN]: apply, propose or refuse`", accepts=are_rows
    )
    """Rows before those of the preset, as in `forget by agent from owner: propose`; the first decides."""


@frozen
class Proposing:
    """How proposals are decided on."""

    review: str = _choice("batch", ("batch", "automatic", "manual"))
    """Who decides: the agent when a session starts, nobody for trusted agents that are sure, or only a person."""
    confidence: float = _share(0.8)
    """From which confidence on a trusted agent's proposal is committed automatically."""
    expire: timedelta = _span(timedelta(days=30))
    """After which time an undecided proposal is dropped; zero is never."""


@frozen
class Reflecting:
    """When an agent reflects, and how much it may say."""

    enabled: bool = setting(True)
    """Whether `tend` makes reflections; each waits for approval."""
    threshold: int = setting(50, 1, 10**6)
    """From how many entries since the last reflection on `tend` makes one."""
    session: int = 40  # turns from which on a conversation is reflected on at its end; 0 is never
    tokens: int = setting(8000, 500, 10**6)
    """Tokens, by estimate, that a reflection may have."""
    items: int = 7  # proposals that each of its sections has at most
    evolution: int = 2000  # tokens, by estimate, that meta/evolution.md may have


@frozen
class Redaction:
    """What is taken out of a text before it is written or sent anywhere."""

    secrets: bool = setting(True)
    """Whether keys, tokens, passwords and private keys are taken out."""
    personal: tuple[str, ...] = setting(
        (), wanted="a list of email, phone, iban, card or ip", accepts=lambda given: set(given) <= set(PERSONAL)
    )
    """Which personal data is taken out of texts before they are written or sent."""
    allow: tuple[str, ...] = _phrases()
    """Texts that look like secrets and are none."""


@frozen
class KnowledgeTuning:
    """How far is concluded, and how cases are compared."""

    most: int = setting(1_000_000, 1, 10**8)
    """How many facts may follow from rules at once; more is an error."""
    depth: int = 10  # how many rules deep a proof is shown
    cases: int = setting(10_000, 1, 10**7)
    """How many cases are kept; beyond, the least important go."""
    beliefs: float = 0.6  # how much common beliefs count when cases are compared; common desires are the rest


@frozen
class Minding:
    """How the mind of an agent is kept up to date by its heartbeat."""

    every: timedelta = _span(timedelta(minutes=30))
    """How often `tend` runs the heartbeat."""
    chunk: int = 50  # beliefs that are looked at together
    certainty: float = 0.6  # from which on two beliefs can be in conflict
    open_minded: timedelta = timedelta(days=7)  # the silence after which an open-minded agent drops an intention
    cautious: timedelta = timedelta(days=3)  # the same for a cautious agent
    facts: float = 0.9  # the confidence from which on a confirmed fact becomes a belief
    ahead: timedelta = _span(timedelta(days=1))
    """How long before its deadline something comes up by itself."""
    reminders: int = 5  # such things that a context has at most
    keep: timedelta = timedelta(days=30)  # how long what is over stays on its page before it is archived


@frozen
class Practising:
    """How ways to do things are learned, and when they are given up."""

    learn: bool = setting(True)
    """Whether `tend` learns procedures from what went well."""
    window: int = 20  # the latest runs, which decide how well a procedure works
    runs: int = 5  # that there must be before a failing procedure is retired
    failing: float = 0.3  # the share of runs that went well below which it is retired
    retries: int = 2  # of a step that fails, where its page does not say


@frozen
class Reasoning:
    """How far problems are thought through."""

    samples: int = setting(10_000, 100, 10**7)
    """How many times a Monte Carlo method draws."""
    work: int = setting(1_000_000, 1000, 10**9)
    """How many cases an exact method looks at before it gives up."""


@frozen
class Mirroring:
    """A TypeDB server that holds a copy of what is known; without an address there is none."""

    url: str = setting(
        "",
        wanted="an http or https address without user name, query or fragment",
        accepts=lambda text: not text or re.fullmatch(r"https?://[\w.\[\]:-]+(?:/[\w./-]*)?", text, re.ASCII),
    )
    """The address of the server's HTTP API, such as http://localhost:8000; empty is none."""
    database: str = setting(
        "memfolio",
        wanted="a name of letters, digits, _ and -",
        accepts=lambda text: 0 < len(text) <= 64 and re.fullmatch(r"[A-Za-z0-9_-]*[A-Za-z0-9][A-Za-z0-9_-]*", text),
    )
    """The database on the server."""
    username: str = setting("", wanted="a name", accepts=lambda text: text.isprintable() and len(text) <= 128)
    """Who signs in there."""
    password: str = setting("", in_file=False, is_secret=True)
    """The password for the TypeDB server; it is sent nowhere else and never shown."""
    timeout: float = setting(5.0, 0.1, 600.0)
    """Seconds to wait for an answer."""
    bytes: int = setting(4096, 256, 10**7)
    """How many bytes of a raw query's answer are shown."""


@frozen
class Config:
    """Every setting of one home, valid and complete."""

    home: Path
    format: int = setting(FORMAT, 1, FORMAT, wanted=" or ".join(map(str, range(1, FORMAT + 1))), in_environment=False)
    """The version of the folder's layout; a home of a newer version is not opened."""
    timezone: str = setting("local", wanted='an IANA time zone such as "Europe/Berlin", or "local"', accepts=_is_zone)
    """The zone in which days begin and times are written; `local` is the zone of this machine.

    An IANA name in what `load_config` gives: `local` has become the machine's own.
    """
    max_content_bytes: int = setting(MIB, 1, 16 * MIB)
    """The longest memory that is accepted, in bytes of UTF-8."""
    max_ledger_bytes: int = setting(128 * 1024, 4096, 16 * MIB)
    """The size in bytes at which a log or ledger goes on in its next part."""
    lock_timeout: float = setting(10.0, 0, 3600)
    """How many seconds a write waits for another process before it gives up as busy."""
    commit_delay: float = setting(0.5, 0, 60)
    """How many seconds appended memories wait for company before they are committed to git."""
    stale_editor_window: timedelta = timedelta(minutes=10)
    """How long memories that an editor overwrote with an older copy of the file are put back by themselves."""
    watch: bool = setting(True)
    """Whether a process that has the home open notices edits of its files by itself."""
    projects: bool = setting(True)
    """Whether what is said in one project is left out in others, unless they are named."""
    git: GitSettings = GitSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    model: ModelSettings = ModelSettings()
    recall: Ranking = Ranking()
    decay: Decay = Decay()
    context: Packing = Packing()
    stores: StoreTuning = StoreTuning()
    core: CoreTuning = CoreTuning()
    consolidate: Consolidation = Consolidation()
    learn: Learning = Learning()
    triggers: Triggers = Triggers()
    flush: Flush = Flush()
    retention: Retention = Retention()
    backup: Backup = Backup()
    tend: TendTuning = TendTuning()
    policy: Governing = Governing()
    proposals: Proposing = Proposing()
    reflection: Reflecting = Reflecting()
    redact: Redaction = Redaction()
    knowledge: KnowledgeTuning = KnowledgeTuning()
    mind: Minding = Minding()
    procedures: Practising = Practising()
    reason: Reasoning = Reasoning()
    typedb: Mirroring = Mirroring()
    agent: str = setting(
        "main",
        wanted="an agent id: a-z, 0-9 and dashes, at most 64, not starting with a dash, no name Windows reserves",
        accepts=AGENT_PATTERN.fullmatch,
        in_file=False,
    )
    """The agent whose memory is meant when none is named."""
    speaker: str = setting("", wanted="owner or agent", accepts=("", "owner", "agent").__contains__, in_file=False)
    """Who speaks through this process; by default a person at the command line, and the agent in a program.

    `owner` or `agent`; empty where nobody said.
    """
    cache: Path = setting(None, in_file=False)
    """The folder for what can be rebuilt; by default the user's cache folder."""
    machine: str = setting(
        None, wanted="1 to 128 characters without spaces", accepts=TOKEN_PATTERN.fullmatch, in_file=False
    )
    """The name under which this machine owns a home; by default derived from the machine's own id."""
    machine_name: str
    """What a person would call the machine, for messages."""
    audience: str = ""
    """Who listens, a person or `room:NAME`; empty where the owner does."""
    store: str = "files"
    """Where the home is kept: `files` in a folder, `postgres` as rows of a database."""
    database_url: str = field(default="", repr=False)
    """The database of `postgres`; empty is a server of the user's own, which is started where it does not run."""
    database_user: str = ""
    """The user that a server of one's own runs as, where memfolio runs as root."""
    database_folder: Path = Path()
    """The folder of a server of one's own."""
    retired: tuple[str, ...] = ()
    """What the file or the environment sets though it is no setting any more."""
    problems: tuple[tuple[str, str], ...] = ()
    """What they set though it never was one: where it stands, and what was probably meant."""

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.timezone)


_FLAGS = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}


def _flag(value: bool | str) -> bool:
    if isinstance(value, str) and value.lower() not in _FLAGS:
        raise ValueError
    return _FLAGS[value.lower()] if isinstance(value, str) else value


def _path(value: str | Path) -> str | None:
    if "\0" in str(value):
        raise ValueError
    return str(value) or None


def _duration(value: timedelta | str) -> timedelta:
    return parse_duration(value) if isinstance(value, str) else value


def _texts(value: list[str] | tuple[str, ...] | str) -> tuple[str, ...]:
    if isinstance(value, str):  # as the environment has it
        return tuple(part.strip() for part in value.split(";") if part.strip())
    if not all(isinstance(each, str) for each in value):
        raise ValueError
    return tuple(value)


_TYPES: Mapping[str, tuple[str, tuple[type, ...], Callable[[Any], object]]] = {
    "bool": ("true or false", (bool, str), _flag),
    "int": ("a whole number", (int, str), int),
    "float": ("a number", (int, float, str), float),
    "str": ("text", (str,), str),
    "timedelta": ("an ISO 8601 duration", (timedelta, str), _duration),
    "tuple[str, ...]": ("a list of texts", (list, tuple, str), _texts),
    "Path": ("a path", (str, Path), _path),
    "Path | None": ("a path", (str, Path), _path),
}
"""By the type of a field: what it is in words, what may stand for it, and how that is read."""


@frozen
class Key:
    """One setting as it was declared, with its dotted name."""

    name: str
    type: str
    default: Any
    low: Any
    high: Any
    wanted: str
    """What is accepted, where type and range do not say it."""
    accepts: Callable[[Any], object]
    in_file: bool = True
    in_environment: bool = True
    is_secret: bool = False
    """Whether a wrong value must not be repeated in a message."""

    @property
    def doc(self) -> str:
        """One sentence on what it is for: the first line of the text below its field."""
        return _docs()[self.name]

    @property
    def field(self) -> str:
        """Its name as an argument."""
        return self.name.replace(".", "_")

    @property
    def variable(self) -> str:
        """Its name in the environment."""
        return variable_of(self.name)

    @property
    def wants(self) -> str:
        """What a valid value is, in words."""
        kind = _TYPES[self.type][0]
        if self.wanted or self.low is None:
            return self.wanted or kind
        return f"{kind} from {_plain(self.low)} to {_plain(self.high)}"

    def read(self, value: object, *, as_text: bool = False) -> object:
        """`value` as this setting's type; ValueError or OverflowError where it is not one.

        With `as_text`, text stands for numbers and flags too, as it does in the environment.
        """
        _, types, convert = _TYPES[self.type]
        is_text = isinstance(value, str) and self.type in ("bool", "int", "float", "tuple[str, ...]")
        is_flag = isinstance(value, bool) and self.type != "bool"  # which Python takes for a number
        if not isinstance(value, types) or is_flag or (is_text and not as_text):
            raise ValueError
        result: Any = convert(value)
        if (self.low is not None and not self.low <= result <= self.high) or not self.accepts(result):
            raise ValueError
        return result


def variable_of(name: str) -> str:
    """The environment variable of a setting."""
    return f"MEMFOLIO_{name.replace('.', '_').upper()}"


SECTIONS: Mapping[str, Any] = {each.name: type(each.default) for each in fields(Config) if is_dataclass(each.default)}
"""The tables of the file, by their headings."""


def _named_fields() -> Iterator[tuple[str, Field[Any]]]:
    """Every field by its dotted name, in the order of the file."""
    for each in fields(Config):
        if each.name in SECTIONS:
            yield from ((f"{each.name}.{inner.name}", inner) for inner in fields(SECTIONS[each.name]))
        else:
            yield each.name, each


KEYS = tuple(
    Key(name=name, type=str(each.type), default=each.default, **each.metadata)
    for name, each in _named_fields()
    if each.metadata
)


@cache
def _docs() -> dict[str, str]:
    """The texts below the fields of this module, by dotted names; only docs and the file of a new home need them."""
    sections = {kind.__name__: f"{section}." for section, kind in SECTIONS.items()} | {"Config": ""}
    docs = {}
    for table in ast.parse(inspect.getsource(sys.modules[__name__])).body:
        if isinstance(table, ast.ClassDef) and table.name in sections:
            for declared, text in pairwise(table.body):
                if isinstance(declared, ast.AnnAssign) and isinstance(text, ast.Expr):
                    name = f"{sections[table.name]}{ast.unparse(declared.target)}"
                    docs[name] = str(ast.literal_eval(text.value)).partition("\n")[0]
    return docs


_NEVER_SET = frozenset(
    "home audience store database_url database_user database_folder machine_name retired problems"
    " embedding.url_is_own model.url_is_own"
    " recall.cover recall.words recall.around recall.reply recall.asking context.broad".split()
)
_GONE = frozenset({"alerts.bytes", "alerts.confidence", "context.anchor", "recall.personal"})
RETIRED = _GONE | {name for name, each in _named_fields() if not each.metadata} - _NEVER_SET
"""Fields that users could set in earlier versions: a file that has them opens, and they change nothing."""


SHOWN = frozenset(
    "timezone git.enabled embedding.provider embedding.url model.provider model.name model.url core.tokens"
    " learn.enabled learn.conflicts retention.episodic backup.folder tend.hour policy.preset proposals.review"
    " redact.personal".split()
)
"""What the file of a new home has."""


def default_toml() -> str:
    """The text of a new home's `memfolio.toml`: what people change most, with its default and commented out.

    Keys have their full names, so that sections can be written below them.
    """
    lines = [
        "# Configuration of this home. Every key is optional; remove the # in front of one to change it.",
        "# These are the ones that people change most. docs/configuration.md of memfolio has all of them.",
        "",
        f"format = {FORMAT}",
    ]
    for key in (key for key in KEYS if key.name in SHOWN):
        lines += ["", f"# {key.doc}", f"# {key.name} = {toml(key.default)}  # {key.wants}"]
    return "\n".join(lines) + "\n"


def toml(value: object) -> str:
    """A default as it is written in the file."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(map(toml, value))}]"
    return f'"{_plain(value)}"' if isinstance(value, str | timedelta) else str(value)


def _plain(value: object) -> str:
    return format_duration(value) if isinstance(value, timedelta) else str(value)
