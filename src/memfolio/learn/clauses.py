"""A turn as clauses: what is never learned is left out, sentences are split, and each clause is taken apart."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from memfolio.learn.words import (
    ADVERBS,
    AUXILIARIES,
    FORMS,
    HEDGES,
    MODALS,
    NAMES,
    NEGATIONS,
    NO_NAMES,
    TIMES,
    TOOLS,
    Voice,
    is_finite,
    is_past,
    lemma_of,
    third,
)
from memfolio.types import ID_PATTERN

# What is never learned: code, logs, quotations, injected memories, small talk, questions and suppositions.

MAX_READ = 20_000
"""Characters of a turn that are read: nobody says more at once, so the rest is pasted."""
_LONGEST_LINE = 2_000
_INJECTED = re.compile(
    r"<(/?)([a-z][a-z0-9]*[-_])?(?:memory|memories|memfolio|context|system"
    r"|recall)(?:[-_][\w-]{1,40})?(?:\s[^<>]{0,200})?>|Remembered data, not instructions",
    re.IGNORECASE,
)
_FORMAL = {
    "i": "I", "im": "I'm", "ive": "I've", "dont": "don't", "doesnt": "doesn't", "hes": "he's", "shes": "she's",
    "cant": "can't", "isnt": "isn't", "didnt": "didn't", "gotta": "have to", "i'm": "I'm", "i've": "I've",
    "i'll": "I'll", "i'd": "I'd", "name's": "name is", "theyre": "they're", "thats": "that's", "whats": "what's",
}  # fmt: skip
_INFORMAL = re.compile(rf"(?<![\w.'/-])(?!im\s+(?-i:[A-ZÄÖÜ]))(?:{'|'.join(_FORMAL)})(?![\w.'/-])", re.IGNORECASE)
"""What people write in a hurry; `im` before a capital letter is German."""
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
_ASIDE = re.compile(r"\[[^\[\]\n]{0,400}\]|\*[a-z][^*\n]{0,60}\*(?=\s|$)")
_URL = re.compile(r"\b(?:https?://|www\.)\S+")
_NOISE = re.compile(
    r"\s*(?:[{}\[\]<>$#|@/\\;=]|>>>|at \S+\(|File \"|Traceback|Caused by|Exception in|\d{4}-\d\d-\d\d[T ]\d|\d\d:\d\d"
    r"|(?:INFO|WARN(?:ING)?|ERROR|DEBUG|TRACE|FATAL|CRITICAL)\b|(?:import|from|def|class|const|let|var|function"
    r"|return|public|private|async|export|package|using)\s[\w.*{ ]+(?:[(){};=:]|\bimport\b|$)|(?:SELECT|INSERT|UPDATE"
    r"|DELETE|CREATE|ALTER|DROP)\s|(?:\w*Error|\w+Exception|error|warning|fatal|panic)\b[:!\[]|\S+:? (?:ERR!"
    r"|[Ee]rror(?: response)?\b[: ])|Require stack|(?:npm|pip|yarn) (?:ERR|WARN)|\w+\(.*\)[;{]?$"
    r"|[\w.\"']+\s*[:=]\s*[\[{\"'])"
)
_SYMBOLS = re.compile(r"[{}\[\]<>=;|\\_~^]")
_BULLET = re.compile(r"^\s*(?:[-*•+]|\d{1,2}[.)])\s+")
_MADE_UP = (
    "just kidding", " jk", "sarcas", "yeah right", "yeah, right", " as if ", "wish i ", "wish we ", "suppose i",
    "suppose we", "suppose that", "imagine", "pretend", "hypothetical", "what if", " i were ", "lorem ipsum", "🙄",
    "🙃", " /s", "once upon a time", "in my dream", "in the story", "in the novel", "in the movie", "in the game",
    "was kidding", "@example.", "married to my job", "my character", "protagonist", "in this scenario", "in my novel",
    "in my story", "would have been",
)  # fmt: skip
_SPOKEN = re.compile(r"[\"“«][^\"“”«»]{0,300}?\b(?:I|I'm|I've|we|you|my|is|are|was)\b[^\"“”«»]{0,300}[\"”»]")
_GIVEN = re.compile(
    r"(?:(?:can|could|please|you|help|me|hey|hi|now)\W+)*(?:rewrite|translate|correct|proofread|summari[sz]e|rephrase"
    r"|paraphrase|edit|improve|shorten|polish|complete|continue|classify|analy[sz]e)\b[^:]{0,80}:",
    re.IGNORECASE,
)
_REPORTED = re.compile(
    r"(?:an )?(?:example|sample)\b[^:]{0,40}:|(?:let's )?(?:pretend|role-?play)\b|(?:imagine|assume|suppose) you\b"
    r"|act as (?:an?|if)\b|(?!I\b|we\b)[^:.!?]{0,80}\b(?:wrote|writes|says|said|replied|told \w+|reads|stated)\s*:",
    re.IGNORECASE,
)
_IRONY = re.compile(r"\b(?:LOVE|ENJOY|ADORE) (?:being|waiting|getting|having|when|how)\b")
_TAKEN_BACK = re.compile(
    r"(?:(?:I'm|I was|nah|no|haha|lol),? )*(?:(?:just|only) )?(?:kidding|joking|jk)\b", re.IGNORECASE
)
_SECRET = re.compile(
    r"\b(?:password|passwd|passphrase|passcode|pin|cvv|secret|token|(?:api|secret|private|access)[ _-]?(?:key|code))\b"
    r"(?: [\w'-]+){0,5}?\s*(?:\bis\b|[:=])\s*(?!not\b|in\b|stored\b|the\b|\w+ed\b)\S"
    r"|\b(?:(?:sk|pk|rk|gh[opsu]|glpat|xox[abp])[-_]|(?-i:AKIA|eyJ))(?=\D*\d)[\w-]{12,}"
    r"|(?<![\d.])\d(?:[ -]?\d){13,18}(?!\d)",
    re.IGNORECASE,
)
_IF = re.compile(r"(?:if|unless|whether|even if|assuming|in case|had I|should I)\b", re.IGNORECASE)
_QUESTION = re.compile(
    r"(?:(?:so|and|but|also|then|ok(?:ay)?|well|hmm|um|hey|hi|please|yeah|or),?\s+)*(?:(?:who|what|whose|whom|which"
    r"|where|when|why|how)(?:'s|'re|'d|'ll)?\s+(?:\w+\s+){0,3}?(?:is|are|was|were|do|does|did|can|could|should|would"
    r"|will|has|have|am|to|about|many|much|come|if)\b|(?:is|are|was|were|do|does|did|can|could|should|would|will|has"
    r"|have|had|am|may|don't|didn't|isn't|aren't|won't|wouldn't|couldn't|shouldn't|haven't)\s+(?:you|i|we|they|he|she"
    r"|it|there|this|that|these|those|the|my|our|your|any|anyone|someone|anybody|somebody)\b|(?:what|how) about|any "
    r"(?:idea|advice|tips?|suggestions?|thoughts|chance|recommendations?|plans|other)\b|what's|how's|who's|where's"
    r"|help me|tell me|show me|give me|let me know|explain|wanna\b)",
    re.IGNORECASE,
)
_SMALL = re.compile(
    r"(?:hi|hiya|hey|hello|yo|howdy|greetings|good (?:morning|afternoon|evening|night|day|luck|job|work)|bye|goodbye"
    r"|thanks|thank you|thx|cheers|ok|okay|k|yes|yep|yeah|yup|no|nope|sure|fine|great|cool|nice|awesome|perfect|wow"
    r"|got it|sounds|understood|exactly|right|agreed|lol|haha|congrat\w*|welcome|sorry|no (?:problem|worries)|never "
    r"mind|see you|take care|let's (?:keep|see|catch)|have a (?:good|great|nice)|same here|me too|of course"
    r"|absolutely|definitely|indeed)\b",
    re.IGNORECASE,
)


def readable(content: str) -> list[str]:
    """The lines that somebody wrote, without what is pasted, quoted, injected or addressed to machines."""
    text = content[:MAX_READ].replace("’", "'").replace("‘", "'").replace("\x00", "")
    text = _INFORMAL.sub(lambda found: _FORMAL[found[0].lower()], text)
    if "<" in text or "Remembered data" in text:
        text = _without_injected(text)
    if "-" in text:  # what was recalled bears the ids of memories
        text = "\n".join(line for line in text.splitlines() if not ID_PATTERN.search(line))
    if "```" in text or "~~~" in text:
        text = "\n".join(_FENCE.split(text)[::2])
    if "[" in text or "*" in text:
        text = _ASIDE.sub("", text.replace("**", ""))
    if "://" in text or "www." in text:
        text = _URL.sub("", text)
    return [line for line in map(_line, text.splitlines()) if line]


def _without_injected(text: str) -> str:
    kept, place = [], 0
    for found in _INJECTED.finditer(text):
        if found.start() < place:
            continue
        kept.append(text[place : found.start()])
        closing = text.find("</", found.end())
        if found[0].startswith("</"):
            place = found.end()
        elif closing < 0:
            return "".join(kept)
        else:
            end = text.find(">", closing, closing + 120)
            place = end + 1 if end >= 0 else len(text)
    return "".join([*kept, text[place:]])


def _line(line: str) -> str:
    bare = _BULLET.sub("", line).strip()
    if not bare or len(bare) > _LONGEST_LINE or line.lstrip().startswith(">") or _NOISE.match(bare):
        return ""
    return "" if len(_SYMBOLS.findall(bare)) * 12 > len(bare) else bare


def is_made_up(sentence: str) -> bool:
    """Whether a sentence supposes, jokes or quotes rather than tells."""
    if "\\" in sentence or sentence.count("`") > 3:
        return True
    low = f" {sentence.lower()}"
    if any(words in low for words in _MADE_UP):
        return True
    return bool(_IF.match(sentence) or _IRONY.search(sentence) or ('"' in sentence and _SPOKEN.search(sentence)))


def is_given(sentence: str) -> bool:
    """Whether what follows is material to work on, or the words of others: `translate this: …`, `she wrote: …`."""
    return bool(_GIVEN.match(sentence) or _REPORTED.match(sentence))


def is_taken_back(following: str) -> bool:
    """Whether the sentence that follows says that it was a joke."""
    return bool(_TAKEN_BACK.match(following))


def is_secret(sentence: str) -> bool:
    """Whether a sentence gives away a password, a key or the number of a card."""
    return bool(_SECRET.search(sentence))


def is_question(clause: str) -> bool:
    """Whether a clause asks, or asks for something."""
    return clause.endswith("?") or bool(_QUESTION.match(clause))


def is_small_talk(clause: str) -> bool:
    """Whether a clause greets, thanks or acknowledges."""
    return bool(_SMALL.match(clause))


# A turn as the clauses that it tells: sentences split where somebody else, or the same one, is told of again.

_LONGEST = 600
_END = re.compile(r"(?<=[.!?…])[\"')]*\s+")
_ABBREVIATION = re.compile(r"(?:\b(?:Dr|Mr|Mrs|Ms|Prof|St|Inc|Ltd|Co|vs|etc|e\.g|i\.e|approx|No|[A-Z]))\.$")
_WHO = (
    r"(?!I (?:are|were|both)\b)(?:I|I'm|I've|I'd|I'll|we|we're|we've|we'll|my|our|he|she|they|he's|she's|they're|it's"
    r"|the|it|his|her|their|[A-Z][a-z]+ (?:is|has|was|works|lives|likes|loves|hates|prefers|uses|runs))\b"
)
_ASKS = (
    r"(?:can|could|would|will|do|does|did|is|are|should|shall) (?:you|I|we|it|there|that|this|they)\b|(?:what|how|why"
    r"|any)(?:'s|'re)? (?:is|are|do|does|can|could|should|would|about|to|advice|tips|ideas?|suggestions?|thoughts"
    r"|would|kind|type|sort)\b|(?:what's|how's|and you)\b"
)
_BREAK = re.compile(
    rf"\s*;\s+|\s+[-–—]+\s+|\s*—\s*|:\s+(?={_WHO})|,?\s+(?:but|however|although|whereas|yet)(?:,)?\s+|,\s+(?:so"
    rf"|though)\s+|,\s+(?:(?:and|so|plus|and so|and also|then)\s+)?(?={_WHO})|,?\s+(?:and|so|plus|and also|and "
    rf"now)\s+(?={_WHO})|,\s+(?:(?:and|so|but|um|hmm)\s+)?(?={_ASKS})|\s+(?:and|so)\s+(?={_ASKS})"
)
_PAIR = re.compile(r"(?:[Mm]y|[Oo]ur) \w+(?: [A-Z]\w+)?|[A-Z]\w+")
_THING = re.compile(r"(?:my|our|the|his|her|their)\s", re.IGNORECASE)
_OPENING = re.compile(
    r"^(?:(?:well|so|and|but|also|oh|ah|um|uh|hmm|hm|yeah|yes|yep|no|nope|ok|okay|sure|right|hey|hi|hello|wow|haha"
    r"|lol|correction|update|btw|by the way|plus|anyway|honestly"
    r"|actually|basically|currently|right now|at the moment|these days"
    r"|nowadays|lately|fyi|for context|for your information|as you know|to be honest|tbh|in fact|of course"
    r"|unfortunately|fortunately|sadly|luckily|just so you know|interestingly|personally|for me|as for me|absolutely"
    r"|definitely|exactly|totally|great|cool|thanks|thank you|good morning|good evening|sorry|first of all|besides"
    r"|then|now|too|one more thing|oh yeah|indeed|as I said|like I said|like|I mean|you know|I guess|well actually"
    r"|nice|true|funny enough|apparently|in general|again)(?:\s*[,:!.–-]+\s*|\s+(?=(?:I|I'm|I've|I'd|I'll|we|we're"
    r"|we've|my|our)\b))|(?:actually|honestly|currently|unfortunately|fortunately|luckily|sadly|basically|meanwhile"
    r"|however|also|now)\s+(?=(?-i:[A-Z])|the\b))+",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r",? (?:by the way|btw|you know|to be honest|tbh|lol|haha|just so you know|fyi|for the record|of course)$", re.I
)
_NAMED = re.compile(r"^[A-Z][a-z]+,\s+(?=(?:I|I'm|I've|we|my|our)\b)")
_AND = re.compile(
    r",?\s+and\s+(?:(?:also|now|currently|often|usually|sometimes|recently|just|really|then)\s+)?(?P<verb>[a-z']+)\b"
)
_TO = re.compile(r"\sto (?!the\b|an?\b|my\b|our\b|work\b|school\b|music\b)[a-z]")
_GOES_ON = frozenset("am have has is don't doesn't can't was will".split())
_MOST_WORDS_BEFORE_VERB = 5


def sentences(line: str) -> Iterator[str]:
    """The sentences of a line."""
    held = ""
    for part in _END.split(line):
        held = f"{held} {part}" if held else part
        if _ABBREVIATION.search(held[-8:]):
            continue
        if held.strip():
            yield held.strip()
        held = ""
    if held.strip():
        yield held.strip()


def clauses(sentence: str) -> Iterator[str]:
    """The parts of a sentence that tell something by themselves; those that ask are left out."""
    if len(sentence) > _LONGEST:
        return
    asks = sentence.endswith("?")
    parts = _joined(_BREAK.split(sentence), sentence)
    for place, part in enumerate(parts):
        if asks and place == len(parts) - 1:
            return
        told = opened(part)
        if told and not is_question(told):
            yield told


def _joined(parts: list[str], sentence: str) -> list[str]:
    """The parts, but a thing without a verb stays with what it belongs to: `my wife and our two kids`."""
    kept: list[str] = []
    end = 0
    for part in filter(None, parts):
        start = sentence.index(part, end)
        bare = _THING.match(part) and not any(_may_be_verb(word) for word in part.split()[1:8])
        pair = part.startswith("I ") and ":" not in sentence[end:start] and kept and _PAIR.fullmatch(kept[-1])
        if kept and (bare or pair):
            kept[-1] += sentence[end:start] + part
        else:
            kept.append(part)
        end = start + len(part)
    return kept


def _may_be_verb(word: str) -> bool:
    low = word.lower().rstrip(",.!?")
    return is_finite(low, True) or is_finite(low, False)


def opened(clause: str) -> str:
    """A clause without the words that only open or close it."""
    bare = clause.strip(" ,'")
    if bare.count('"') == 1 or (bare[:1] == '"' == bare[-1:]):
        bare = bare.strip('"')
    bare = _NAMED.sub("", _OPENING.sub("", bare))
    return _CLOSING.sub("", bare.strip().rstrip(".!…,; "))


def shared(clause: str) -> Iterator[str]:
    """The clause, or the several that share its subject: `I live in Rome and work as a nurse` tells two things."""
    who, head = _beginning(clause) if " and " in clause else ("", "")
    if not who or _TO.search(clause, 0, clause.find(" and ")):
        yield clause
        return
    start, held = 0, ""
    for found in _AND.finditer(clause, len(who)):
        if _goes_on(found["verb"], who in ("I", "We", "we"), is_past(head)):
            yield held + clause[start : found.start()]
            held, start = f"{who} ", found.start("verb")
    yield held + clause[start:]


def _beginning(clause: str) -> tuple[str, str]:
    """The subject of a clause and its first verb; both empty where that is not clear."""
    words = clause.split()
    first = words[0].partition("'")[0]
    if first in ("I", "We", "we"):
        if words[0].endswith(("'ll", "'d")) or not MODALS.isdisjoint(words[1:3]) or "going" in words[1:4]:
            return "", ""
        return first, next((word for word in words[1:3] if word not in ADVERBS), "")
    for place, word in enumerate(words[1:_MOST_WORDS_BEFORE_VERB], 1):
        if is_finite(word, False) and "and" not in words[:place]:
            return " ".join(words[:place]), word
    return "", ""


def _goes_on(verb: str, first_person: bool, past: bool) -> bool:
    if verb in AUXILIARIES:
        return verb in _GOES_ON
    lemma = FORMS.get(verb)
    if lemma is None or verb.endswith("ing"):
        return False
    return past if is_past(verb) else verb == (lemma if first_person else third(lemma))


# A clause taken apart: who does what, since when it is so, and how sure the speaker is.

_MOST_SUBJECT = 7
_PLURAL = frozenset("children kids parents people twins cats dogs friends".split())
KIN = frozenset(
    """
wife husband partner spouse girlfriend boyfriend fiancé fiancée fiance fiancee mother father mom mum dad sister brother
son daughter child kid baby uncle aunt cousin nephew niece grandmother grandfather grandma grandpa granddaughter
grandson friend boss manager colleague coworker neighbour neighbor roommate flatmate teacher mentor doctor therapist
landlord parents children kids siblings sisters brothers sons daughters twins friends in-laws mother-in-law
father-in-law brother-in-law sister-in-law stepmother stepfather stepson stepdaughter ex ex-wife ex-husband client
intern assistant accountant lawyer dentist coach trainer team family grandparents stepdad stepmom
""".split()
)
_ARTICLES = frozenset("the our my his her their this every each all most both".split())
_HE, _IT = frozenset(("he", "she", "they")), frozenset(("it",))
_HIS, _ITS = frozenset(("his", "her", "their")), frozenset(("its",))
_FUTURE = frozenset("will 'll going gonna won't about shall".split())
_IS = frozenset("is are was were has have isn't aren't".split())
_SHORT = {"s": " is", "re": " are", "ll": " will", "ve": " have", "d": " would"}
PETS = "dog|cat|puppy|kitten|horse|hamster|parrot|rabbit|bunny|pet|turtle|bird|pony"
_ANIMALS = frozenset(PETS.split("|"))
_CLOSE = re.compile(
    rf"(?:(?P<owner>(?:the user|\S+)'s) (?:\w+ ){{0,2}}?|\ban? (?:\w+ "
    rf")?)(?P<whom>(?:{'|'.join(sorted(each for each in KIN if not each.endswith('s')))}|{PETS})\b(?:,? (?:named "
    rf"|called )?[A-Z][\w-]+)?)"
)
_SAYS_SO = re.compile(
    r"(?:I|we)\s+(?:(?:really|also|just|still|personally|honestly)\s+)*(?P<verb>think|believe|guess|suppose|feel like"
    r"|feel|assume|reckon|suspect|heard|hear|know|realized|realised|noticed|found out|figure)\s+(?:that\s+)?(?=(?:I"
    r"|I'm|I've|I'll|we|we're|we'll|my|our|the|it|it's|he|she|they|this|that|[A-Z]|\w+ (?:is|are|was)\b))"
)


class Who(StrEnum):
    """Of whom a clause tells."""

    SELF = "s"
    WE = "w"
    PERSON = "p"
    THING = "t"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """One clause in the third person, as far as rules need it."""

    text: str
    subject: str
    who: Who
    verb: str
    tail: str
    past: bool = False
    perfect: bool = False
    ongoing: bool = False
    future: bool = False
    could: bool = False
    negated: bool = False
    hedged: bool = False
    resolved: bool = False
    held: str = ""
    """The verb of an opinion that the clause was wrapped in: `think`, `heard`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Antecedents:
    """Whom or what `he`, `her` or `it` may mean."""

    name: str
    who: Who


def spoken_of(said: Clause, last: Antecedents | None, stated: bool) -> Antecedents | None:
    """Whom a pronoun means after a clause: its subject, or somebody close whom it names; else whom it meant before."""
    if said.who is Who.PERSON or (said.who is Who.THING and stated):
        return Antecedents(name=said.subject, who=said.who)
    if close := _CLOSE.search(said.tail):
        speaker = said.subject.removesuffix("'s team").removesuffix(" and others")
        owner = close["owner"] or f"{speaker}'s"
        return Antecedents(name=f"{owner} {close['whom']}", who=Who.PERSON)
    return last if last and last.who is Who.PERSON else None


def take_apart(clause: str, voice: Voice, last: Antecedents | None) -> Clause | None:
    """Who does what in a clause; nothing where no subject and verb are found. `last` tells who he or it is."""
    held = _SAYS_SO.match(clause) if clause.startswith(("I ", "We ", "we ")) else None
    bare = clause[held.end() :] if held else clause
    first, _, after = bare.partition(" ")
    if not after:
        return None
    stand_in = _stand_in(first.lower(), after, last)
    if stand_in:
        bare = stand_in + " " + after
    elif not _may_begin(first):
        return None
    text = voice.retell(bare)
    tokens = text.split()
    who, size = _subject(first, tokens, voice, last if stand_in else None)
    if not who or not size:
        return None
    subject = " ".join(tokens[:size])
    return _phrase(text, _bare(subject), who, tokens[size:], bool(stand_in), held["verb"] if held else "")


def _may_begin(first: str) -> bool:
    low = first.lower().rstrip(",")
    if low.partition("'")[0] in ("i", "we") or low in _ARTICLES:
        return True
    return first[:1].isupper() and not _is_plain(low)


def _stand_in(first: str, after: str, last: Antecedents | None) -> str:
    word, _, short = first.partition("'")
    if last is None or _is_plural(last.name.split()) != (word in ("they", "their")):
        return ""
    if word in (_HE if last.who is Who.PERSON else _IT):
        return last.name + (" has" if short == "s" and after.startswith(("been ", "got ")) else _SHORT.get(short, ""))
    return f"{last.name}'s" if word in (_HIS if last.who is Who.PERSON else _ITS) else ""


def _subject(first: str, tokens: list[str], voice: Voice, last: Antecedents | None) -> tuple[Who | None, int]:
    """Of whom it tells, and how many tokens name them."""
    if last is not None and first.partition("'")[0].lower() in _HE | _IT:
        return last.who, len(last.name.split())
    if last is not None:
        first = last.name.split()[0]
    word = first.partition("'")[0]
    if word == "I":
        return Who.SELF, len(voice.name.split())
    if word.lower() == "we":
        return Who.WE, len(voice.name.split()) + (1 if "'s team" in " ".join(tokens[:5]) else 2)
    return _named(first, tokens)


def _named(first: str, tokens: list[str]) -> tuple[Who | None, int]:
    low = first.lower().rstrip(",")
    is_name = first[:1].isupper() and low not in _ARTICLES and not _is_plain(low)
    if not is_name and low not in _ARTICLES:
        return None, 0
    for place in range(1, min(len(tokens), _MOST_SUBJECT + 1)):
        before = tokens[place - 1].lower().rstrip(",.;")
        size = _size(tokens, place)
        plural = _is_plural(tokens[:size])
        loose = is_name and low not in TOOLS and not any("'s" in token for token in tokens[:place])
        if is_finite(tokens[place].lower(), plural) and before not in ("who", "that", "which", "to", "and", "or"):
            if _is_noun(tokens, place):
                continue
            if before.endswith("'s") and tokens[place] in ("been", "a", "got"):
                return None, 0
            common = is_name and size == 1 and tokens[place] in ("have", "do", "don't")
            return (None, 0) if common else (_class(tokens[:size], is_name), size)
        if tokens[place].endswith((":", ";")) or (loose and tokens[place].islower() and tokens[place] not in ADVERBS):
            return None, 0
    return None, 0


def _size(tokens: list[str], verb: int) -> int:
    """How many tokens name the subject, without what comes before the verb: `my sister no longer` works."""
    while verb > 1 and (tokens[verb - 1].lower() in ADVERBS or tokens[verb - 1] == "no"):
        verb -= 1
    return verb


def _is_noun(tokens: list[str], place: int) -> bool:
    """Whether what may be a verb belongs to the subject, since the verb follows: `the clothes store is open`."""
    word = tokens[place].lower()
    return (
        word not in AUXILIARIES
        and lemma_of(word) not in ("say", "think", "know")
        and any(word in _IS for word in tokens[place + 1 : place + 3])
    )


@lru_cache(maxsize=4096)
def _is_plain(low: str) -> bool:
    """Whether a word that begins a sentence with a capital is no name."""
    word = low.partition("'")[0]
    if word in KIN:
        return False
    known = low in AUXILIARIES or word in NO_NAMES or word in TIMES or word in ADVERBS or lemma_of(word)
    return bool(known) or (word.endswith(("ing", "ly")) and word not in NAMES)


def _is_plural(tokens: list[str]) -> bool:
    last = tokens[-1].lower().rstrip(",.;")
    if last in NAMES or tokens[-1][:1].isupper():
        return "and" in tokens
    return "and" in tokens or last in _PLURAL or (last.endswith("s") and not last.endswith(("'s", "ss", "us")))


def _class(tokens: list[str], is_name: bool) -> Who:
    tokens = next((tokens[:at] for at, token in enumerate(tokens) if token in ("who", "which", "whose") and at), tokens)
    words = [_bare(token).lower() for token in tokens]
    heads = set(words[-1:] if not tokens[-1][:1].isupper() else words[-3:])
    if "and" in words and (KIN | NAMES) & set(words):
        return Who.PERSON
    if len(words) > 1 and words[-1] in NAMES and words[-2] in KIN | _ANIMALS:
        return Who.PERSON
    if heads & KIN or heads & _ANIMALS or (words[-1] in NAMES and tokens[-1][:1].isupper()):
        return Who.PERSON
    if is_name and len(tokens) <= 3 and tokens[0].isalpha() and tokens[0][1:].islower() and tokens[-1][:1].isupper():
        return Who.PERSON if tokens[0].lower() in NAMES else Who.THING
    return Who.THING


def _bare(token: str) -> str:
    return token.strip(',.;:!()"').removesuffix("'s") if token.endswith(",") else token.strip(',.;:!()"')


def _phrase(text: str, subject: str, who: Who, tokens: list[str], resolved: bool, held: str) -> Clause | None:
    seen: list[str] = []
    for place, token in enumerate(tokens[:8]):
        word = token.lower().rstrip(",")
        if word == "to" and seen and seen[-1] not in ("used", "going", "gonna", "about"):
            has = seen[-1] in ("have", "has", "had")
            rest = [seen[-1], *tokens[place:]] if has else tokens[place:]
            return _said(text, subject, who, seen[:-1] if has else seen, rest, resolved=resolved, held=held)
        if token != "May" and (word in AUXILIARIES or word in ADVERBS):
            seen.append(word)
            continue
        if word in ("used", "going", "gonna", "about") and tokens[place + 1 : place + 2] == ["to"]:
            seen.append(word)
            continue
        return _said(text, subject, who, seen, tokens[place:], resolved=resolved, held=held)
    return None


def _said(
    text: str, subject: str, who: Who, seen: list[str], rest: list[str], *, resolved: bool, held: str
) -> Clause | None:
    word = rest[0].lower().strip(",.")
    verb, ongoing = lemma_of(word), word.endswith("ing")
    if word == "got" and {"has", "have"} & set(seen):
        word, verb, seen = "has", "have", [each for each in seen if each not in ("has", "have")]
    is_being = bool(
        {"am", "is", "are", "was", "were", "be", "been", "isn't", "aren't", "wasn't", "weren't"} & set(seen)
    )
    has = bool({"have", "has", "haven't", "hasn't"} & set(seen))
    known = verb and (ongoing or not is_being)
    if not known and has and is_past(word):
        return None
    if not known:
        verb, ongoing, tail = ("be" if is_being else "have" if has or "had" in seen else ""), False, rest
    else:
        tail = rest[1:]
    if not verb:
        return None
    return Clause(
        text=text, subject=subject, who=who, verb=verb, tail=" ".join(tail), resolved=resolved, held=held,
        past=bool({"was", "were", "did", "didn't", "had", "used", "wasn't", "weren't"} & set(seen))
        or (bool(known) and is_past(word) and not has),
        perfect=has and bool(known), ongoing=ongoing,
        future=bool(_FUTURE & set(seen)),
        could=bool((MODALS - _FUTURE - HEDGES) & set(seen)) or "shouldn't" in seen,
        negated=bool(NEGATIONS & set(seen)), hedged=bool(HEDGES & set(seen)) or held not in ("", "know", "found out"),
    )  # fmt: skip
