"""Split a turn into clauses: leave out what is never learned, split sentences, and parse each clause."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum
from functools import lru_cache

from memfolio.learn.words import LEXICON, Voice, is_finite, is_past, lemma_of, names, pattern, words
from memfolio.llm.prompt import addresses_reader
from memfolio.types import ID_PATTERN, frozen

# What is never learned: code, logs, quotations, injected memories, small talk, questions and suppositions.

MAX_READ = 20_000
"""Characters of a turn that are read: nobody says more at once, so the rest is pasted."""
_LONGEST_LINE = 2_000
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
_ASIDE = re.compile(r"\[[^\[\]\n]{0,400}\]|\*[a-z][^*\n]{0,60}\*(?=\s|$)")
_URL = re.compile(r"\b(?:https?://|www\.)\S+")
_SYMBOLS = re.compile(r"[{}\[\]<>=;|\\_~^]")
_BULLET = re.compile(r"^\s*(?:[-*•+]|\d{1,2}[.)])\s+")


def readable(content: str) -> list[str]:
    """Return the lines that a person wrote, without pasted, quoted, injected or machine-directed text."""
    text = content[:MAX_READ].replace("’", "'").replace("‘", "'").replace("\x00", "")
    text = pattern("quotation").sub("", own_words(text))
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


def spelled_out(line: str) -> str:
    """A line as the rules read it: short forms spelled out, and without asides; never to be quoted."""
    formal = LEXICON.table("words")["informal"]
    text = line
    for name, told in LEXICON.table("rules")["spelled"]:
        text = pattern(name).sub(told, text)
    text = pattern("bare_date").sub(lambda found: f"the {found['noun'].lower()} is on {found['date']}", text)
    text = pattern("from_then").sub(lambda found: f"{found['rest']} {uncapitalized(found['then'])}", text)
    text = " ".join(text.split())
    return pattern("informal_word").sub(lambda found: formal[found[0].lower()], text)


def uncapitalized(text: str) -> str:
    """A text as it goes on within a sentence."""
    return text[:1].lower() + text[1:]


def own_words(text: str) -> str:
    """A turn without what its writer pasted into it: parts set off by marked rules, mails, and what a line presents.

    Nothing is left of a turn that addresses whatever assistant reads it with words that are not set off so.
    """
    kept: list[str] = []
    in_paste = False
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if pattern("marked_rule").match(line):
            # A rule that says `end`, or a bare one behind the opening one, closes the part.
            in_paste = not in_paste and not pattern("closing_rule").match(line)
        elif in_paste and pattern("bare_rule").match(line):
            in_paste = False
        elif not in_paste and pattern("mail_header").match(line) and _has_header_below(lines[at + 1 :]):
            break
        elif not in_paste:
            kept.append(line)
            if pattern("presents").search(line) and any(map(str.strip, lines[at + 1 :])):
                break
    own = "\n".join(kept)
    return "" if addresses_reader(own) else own


def _has_header_below(lines: list[str]) -> bool:
    """Whether another header of a mail follows, perhaps behind one that is folded."""
    return any(pattern("mail_header").match(line) for line in lines[:2])


def _without_injected(text: str) -> str:
    kept, place = [], 0
    for found in pattern("injected").finditer(text):
        if found.start() < place:
            continue
        kept.append(text[place : found.start()])
        closing = text.find("</", found.end())
        if found[0].startswith("</"):
            place = found.end()
        # A tag that is never closed takes the rest of the text with it.
        elif closing < 0:
            return "".join(kept)
        else:
            end = text.find(">", closing, closing + 120)
            place = end + 1 if end >= 0 else len(text)
    return "".join([*kept, text[place:]])


def _line(line: str) -> str:
    bare = _BULLET.sub("", line).strip()
    if not bare or len(bare) > _LONGEST_LINE or line.lstrip().startswith(">") or pattern("noise").match(bare):
        return ""
    # More than one sign in twelve characters is code, whatever the words say.
    return "" if len(_SYMBOLS.findall(bare)) * 12 > len(bare) else bare


def is_made_up(sentence: str) -> bool:
    """Whether a sentence is hypothetical, a joke or a quote."""
    low = f" {sentence.lower()}"
    if pattern("laughing").search(sentence):
        return True
    if "\\" in low or low.count("`") > 3 or any(part in low for part in LEXICON.table("rules")["made_up"]):
        return True
    is_quoted = '"' in sentence and pattern("spoken").search(sentence)
    return bool(is_quoted or pattern("supposed").match(sentence) or pattern("irony").search(sentence))


def is_given(sentence: str) -> bool:
    """Whether what follows is material to work on, or the words of others: `translate this: …`, `she wrote: …`."""
    return bool(pattern("given").match(sentence) or pattern("reported").match(sentence))


def is_taken_back(sentence: str, following: str) -> bool:
    """Whether the sentence that follows says that it was a joke, or asks how many there are: a sum, and no report."""
    sum_of = pattern("sum").match(following)
    is_sum = sum_of is not None and sum_of["what"] in sentence and any(map(str.isdigit, sentence))
    return is_sum or pattern("taken_back").match(following) is not None


def is_secret(sentence: str) -> bool:
    """Whether a sentence gives away a password, a key or the number of a card."""
    return bool(pattern("secret").search(sentence))


def in_fact(sentence: str) -> str:
    """What a sentence that supposes something says of how it is: `if I were rich …, but I live in Leeds`."""
    found = pattern("in_fact").search(sentence) if pattern("supposed").match(sentence) else None
    return sentence[found.end() :] if found else ""


def dated(sentence: str, before: str) -> str:
    """`3 November it is` and `it's 12 December` with the one thing of which the sentence before tells when it is."""
    found = pattern("date_alone").match(sentence)
    date = found and (found["date"] or found["other"])
    nouns = {each[0].lower() for each in pattern("dated_noun").finditer(before if found else sentence)}
    if len(nouns) != 1:
        return sentence
    noun = nouns.pop()
    if found:
        return f"the {noun} is on {date} now{sentence[found.end() :]}"
    # `We don't launch on the 3rd, it's 24 November now` tells nothing more than the new date.
    head = "" if pattern("not_then").match(sentence) else ", "
    told = pattern("date_behind").sub(lambda behind: f"{head}the {noun} is on {behind['date']}", sentence, count=1)
    return told if head or told == sentence else told[told.index(f"the {noun} is on ") :]


def is_question(clause: str) -> bool:
    """Whether a clause asks, or asks for something."""
    return clause.endswith("?") or bool(pattern("question").match(clause))


def asks_for_help(sentence: str) -> bool:
    """Whether a sentence only asks an assistant for something: translate this, write me a notice."""
    return bool(pattern("asks_for_help").match(sentence))


def is_small_talk(clause: str) -> bool:
    """Whether a clause greets, thanks or acknowledges."""
    return bool(pattern("small_talk").match(clause))


# A turn as the clauses that it tells: sentences split where somebody else, or the same one, is told of again.

_LONGEST = 600
_PAIR = re.compile(r"(?:[Mm]y|[Oo]ur) \w+(?: [A-Z]\w+)?|[A-Z]\w+")


def clauses(sentence: str) -> Iterator[str]:
    """Yield the parts of a sentence that each say or ask something."""
    if len(sentence) > _LONGEST:
        return
    for part in _joined(pattern("clause_break").split(sentence), sentence):
        if told := opened(part):
            yield told


def _joined(parts: list[str], sentence: str) -> list[str]:
    """The parts, but `my wife and I live in Rome` is one clause, although `I` begins another."""
    kept: list[str] = []
    end = 0
    for part in filter(None, parts):
        start = sentence.index(part, end)
        if kept and part.startswith("I ") and ":" not in sentence[end:start] and _PAIR.fullmatch(kept[-1]):
            kept[-1] += sentence[end:start] + part
        else:
            kept.append(part)
        end = start + len(part)
    return kept


def opened(clause: str, *, is_sentence: bool = False) -> str:
    """A clause without the words that only open or close it; at the start of a sentence `quit choir` is what I did."""
    bare = clause.strip(" ,'")
    bare = pattern("opening").sub("", bare)
    if (kin := pattern("kin_alone").match(bare)) is not None:
        bare = f"my {kin[0].lower()}{bare[kin.end() :]}"
    else:
        lead = pattern("lately").match(bare)
        rest = bare[lead.end() :] if lead else bare
        if pattern("without_me").match(rest[:1].upper() + rest[1:] if is_sentence else rest):
            bare = f"I {lead[0].lower() if lead else ''}{rest[0].lower()}{rest[1:]}"
    return pattern("closing").sub("", bare.strip().rstrip(".!…,; "))


def shared(clause: str) -> Iterator[str]:
    """The clause, or the several that share its subject: `I live in Rome and work as a nurse` tells two things."""
    who, head = _beginning(clause) if " and " in clause else ("", "")
    if not who:
        yield clause
        return
    start, subject = 0, ""
    for found in pattern("and_verb").finditer(clause, len(who)):
        # `I want to go home and sleep` tells one thing: the second verb hangs on `to`.
        if pattern("infinitive").search(clause, start, found.start()):
            break
        if _goes_on(found["verb"], is_past(head)) and lemma_of(found["verb"]) != lemma_of(head):
            yield subject + clause[start : found.start()]
            subject, start = f"{who} ", found.start("verb")
    yield subject + clause[start:]


def _beginning(clause: str) -> tuple[str, str]:
    """I or we and the first verb of a clause; both empty where it begins otherwise, or tells of the future."""
    tokens = clause.split()
    first = tokens[0].partition("'")[0]
    is_future = tokens[0].endswith(("'ll", "'d")) or "going" in tokens[1:4]
    if first not in ("I", "We", "we") or is_future or not words("modals").isdisjoint(tokens[1:3]):
        return "", ""
    return first, next((word for word in tokens[1:3] if word not in words("adverbs")), "")


def _goes_on(verb: str, past: bool) -> bool:
    if verb in words("auxiliaries"):
        return verb in words("continuing")
    lemma = lemma_of(verb)
    if not lemma or verb.endswith("ing"):
        return False
    return past if is_past(verb) else verb == lemma


# A clause taken apart: who does what, since when it is so, and how sure the speaker is.

_MOST_SUBJECT = 7
_HE, _IT = frozenset(("he", "she", "they")), frozenset(("it",))
_SEXES = {"he": "men", "him": "men", "his": "men", "she": "women", "her": "women"}
_HIS, _ITS = frozenset(("his", "her", "their")), frozenset(("its",))
_SHORT = {"s": " is", "re": " are", "ll": " will", "ve": " have", "d": " would"}
_PLACING = (" from ", " in ", " at ", " near ", " into ")
_GOING = frozenset(("used", "going", "gonna", "about"))
"""With `to`, parts of a tense."""


class Who(StrEnum):
    """The subject of a clause."""

    SELF = "s"
    WE = "w"
    PERSON = "p"
    THING = "t"


@frozen
class Clause:
    """One clause in the third person, as far as rules need it."""

    text: str
    subject: str
    who: Who
    verb: str
    tail: str
    past: bool
    perfect: bool
    ongoing: bool
    future: bool
    could: bool
    negated: bool
    hedged: bool
    resolved: bool
    """Whether its subject was a pronoun."""
    is_bare: bool
    """Whether its subject is a noun without an article, such as `tax return`."""
    opinion: str
    """The verb of an opinion that the clause was wrapped in: `think`, `heard`."""


@frozen
class Antecedent:
    """The possible meaning of `he`, `her` or `it`."""

    name: str
    who: Who


def spoken_of(said: Clause, last: Antecedent | None, stated: bool) -> Antecedent | None:
    """Whom a pronoun means after a clause: its subject, or somebody close whom it names; else whom it meant before."""
    named = pattern("somebody").fullmatch(said.tail) if said.who is Who.PERSON and said.verb == "be" else None
    if named and not said.negated and not _sexes(said.subject):
        return Antecedent(name=named["name"], who=Who.PERSON)
    others = _other_people(said) if said.verb != "be" else []  # then it says who or what the subject is
    if said.who is Who.PERSON and others and not _sexes(said.subject):
        return None  # `Mia visited Tom` leaves open who `he` is
    if said.who is Who.PERSON or (said.who is Who.THING and stated):
        return Antecedent(name=said.subject, who=said.who)
    if close := pattern("close_one").search(said.tail):
        speaker = said.subject.removesuffix("'s team").removesuffix(" and others")
        owner = close["owner"] or f"{speaker}'s"
        return Antecedent(name=f"{owner} {close['whom']}", who=Who.PERSON)
    if called := pattern("called_so").search(said.tail):
        return Antecedent(name=called["name"], who=Who.THING)
    if met := person_at_end(said.tail):
        return met
    known = last if last and last.who is Who.PERSON else None
    if known is None or all(each in known.name for each in others):
        is_one = len(others) == 1 and others[0].lower() in words("first_names")
        return known or (Antecedent(name=others[0], who=Who.PERSON) if is_one else None)
    return None


def _other_people(said: Clause) -> list[str]:
    """Whom a clause names behind its verb: names that are not known for something else, and what people are."""
    tail = f"- {said.tail}"
    found = (each for each in pattern("somebody_before").finditer(tail) if not tail[: each.start()].endswith(_PLACING))
    known = (names("places"), names("tools"), names("organizations"), words("times"), words("languages"))
    return [each[0] for each in found if not any(each[0].lower() in listed for listed in known)]


def _sexes(name: str) -> set[str]:
    """What is known of somebody who is called so: a sister is a woman, Kim may be either."""
    said = set(re.split(r"[ .']", name.lower()))
    return {kind for kind in ("men", "women") if said & words(kind)}


def _may_be(pronoun: str, name: str) -> bool:
    """Whether he or she can be somebody who is called so."""
    sexes, kind = _sexes(name), _SEXES.get(pronoun, "")
    return not kind or not sexes or kind in sexes


def person_at_end(text: str) -> Antecedent | None:
    """Somebody for whom, or with whom, something is done: `a limerick for Gus`."""
    found = pattern("person_at_end").search(text)
    return Antecedent(name=found["name"], who=Who.PERSON) if found else None


def take_apart(clause: str, voice: Voice, last: Antecedent | None) -> Clause | None:
    """Who does what in a clause; nothing where no subject and verb are found. `last` tells who he or it is."""
    opinion = pattern("says_so").match(clause) if clause.startswith(("I", "We", "we")) else None
    bare = clause[opinion.end() :] if opinion else clause
    first, _, after = bare.partition(" ")
    if not after:
        return None
    stand_in = _stand_in(first.lower(), after, last)
    if stand_in:
        bare = f"{stand_in} {after}"
    elif not _may_begin(first, after.partition(" ")[0].lower()):
        return None
    # `Soraya, starts on the 19th`: the comma behind a name only stands for a breath.
    if first.endswith(",") and first[0].isupper() and is_finite(after.split()[0], plural=False):
        first, bare = first[:-1], f"{first[:-1]} {after}"
    text = voice.retell(bare)
    tokens = text.split()
    who, size = _subject(first, tokens, voice, last if stand_in else None)
    if not who or not size:
        return None
    seen, rest = _around_verb(tokens[size:])
    subject = _bare(" ".join(tokens[:size]))
    if (
        not rest
        or (found := _clause(text, subject, who, seen, rest, bool(stand_in), (opinion and opinion["verb"]) or ""))
        is None
    ):
        return None
    return replace(found, is_bare=not stand_in and _is_bare(first))


def naming(clause: str, last: Antecedent | None, voice: Voice) -> str:
    """What the speaker does to him or her, with the name of whom that means where the clause names nobody else."""
    if last is None or last.who is not Who.PERSON or not clause.startswith(("I", "We", "we")):
        return clause
    found = pattern("object_of_verb").search(clause)
    is_named = found is not None and pattern("somebody_before").search(clause, 0, found.start())
    if found is None or is_named or not _may_be(found[0].lower(), last.name):
        return clause
    name = last.name.replace(f"{voice.name}'s ", "my ", 1)
    name = name[0].lower() + name[1:] if name.startswith("The ") else name
    name += "'s" if found["whose"] else ""
    return f"{clause[: found.start()]}{name}{clause[found.end() :]}"


def by_itself(said: Clause, last: Antecedent | None) -> Clause | None:
    """A clause without a reason or end that tells of another one only by a pronoun; nothing where it hangs on that."""
    # `The big one is a fair called May Lights` tells what May Lights is.
    called = (
        pattern("called_so").match(said.tail) if said.verb == "be" and pattern("fronted").search(said.subject) else None
    )
    if called and not said.negated:
        what = said.tail[: called.start("name")].rsplit(" ", 2)[0]
        return replace(said, subject=called["name"], who=Who.THING, tail=what, text=f"{called['name']} is {what}")
    found = pattern("of_another").search(said.tail)
    is_told = said.who is Who.PERSON and (last is None or last.name == said.subject)
    if found is None or is_told or pattern("somebody_before").search(f"- {said.tail}", 0, found.start() + 2):
        return said
    rest = len(found[0])
    return None if found["hangs"] else replace(said, text=said.text[:-rest], tail=said.tail[:-rest])


def _may_begin(first: str, second: str) -> bool:
    low = first.lower().rstrip(",")
    if low.partition("'")[0] in ("i", "we") or low in words("determiners") or low in words("times"):
        return True
    # `Tax return is due` begins with a noun, `tax the rich` with a verb.
    return not _is_plain(low) or (bool(lemma_of(low)) and second not in words("after_order") and second.isalpha())


def _is_bare(first: str) -> bool:
    low = first.lower().rstrip(",")
    is_known = low.partition("'")[0] in ("i", "we") or low in words("determiners")
    return not is_known and (first[:1].islower() or _is_plain(low))


def _stand_in(first: str, after: str, last: Antecedent | None) -> str:
    word, _, short = first.partition("'")
    if last is None or _is_plural(last.name.split()) != (word in ("they", "their")):
        return ""
    if not _may_be(word, last.name):
        return ""
    # Who has a name is not called by another one.
    if pattern("naming").match(after) and pattern("called_already").search(last.name):
        return ""
    # `It's me and Ludmila who decide` tells of these, and not of what `it` could mean.
    if word == "it" and pattern("cleft").search(after):
        return ""
    if word in (_HE if last.who is Who.PERSON else _IT):
        return last.name + (" has" if short == "s" and pattern("has_done").match(after) else _SHORT.get(short, ""))
    return f"{last.name}'s" if word in (_HIS if last.who is Who.PERSON else _ITS) else ""


def _subject(first: str, tokens: list[str], voice: Voice, last: Antecedent | None) -> tuple[Who | None, int]:
    """Return the kind of subject, and how many tokens name it."""
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
    is_bare = low not in words("determiners")
    is_name = first[:1].isupper() and is_bare and not _is_plain(low)
    is_noun = is_bare and not is_name
    for place in range(1, min(len(tokens), _MOST_SUBJECT + 1)):
        before = tokens[place - 1].lower().rstrip(",.;")
        size = _size(tokens, place)
        plural = _is_plural(tokens[:size])
        word, after = tokens[place].lower(), tokens[place + 1].lower() if place + 1 < len(tokens) else ""
        if not is_finite(word, plural) or before in (
            "who",
            "that",
            "which",
            "to",
            "and",
            "or",
            "for",
            "of",
            "the",
            "a",
            "an",
        ):
            continue
        # `The library books are due`: what stands before an auxiliary is no verb, though it may look like one.
        if word not in words("auxiliaries") and after in words("being") | {"has", "have", "will", "won't", "must"}:
            continue
        # Without a determiner, a noun is known by what is said of it, as in `tax return is due`.
        if is_noun and low not in words("kin") and word not in words("auxiliaries"):
            return None, 0
        return _class(tokens, size, is_name, lemma_of(word)), size
    return None, 0


def _size(tokens: list[str], verb: int) -> int:
    """How many tokens name the subject, without what comes before the verb: `my sister no longer` works."""
    while verb > 1 and (tokens[verb - 1].lower() in words("adverbs") or tokens[verb - 1] == "no"):
        verb -= 1
    return verb


@lru_cache(maxsize=4096)
def _is_plain(low: str) -> bool:
    """Whether a word that begins a sentence with a capital is no name."""
    word = low.partition("'")[0]
    if word in words("kin") or (word in words("first_names") and word not in words("plain_words")):
        return False
    if low in words("auxiliaries") or word in words("plain_words") or lemma_of(word):
        return True
    return word.endswith(("ing", "ly")) and word not in words("first_names")


def _is_plural(tokens: list[str]) -> bool:
    last = tokens[-1].lower().rstrip(",.;")
    if "and" in tokens:
        return True
    if last in words("first_names") or tokens[-1][:1].isupper():
        return False
    return last in words("plurals") or (last.endswith("s") and not last.endswith(("'s", "ss", "us")))


def _class(told: list[str], size: int, is_name: bool, verb: str) -> Who:
    """Whether a subject is a person or a thing, by its last words, its verb, or its last three words as a name."""
    tokens = told[:size]
    low = [_bare(token).lower() for token in tokens]
    people, close = words("first_names"), words("kin_or_pets")
    is_capital = tokens[-1][:1].isupper()
    if not close.isdisjoint(low[-3:] if is_capital else low[-1:]) or (low[-1] in people and is_capital):
        return Who.PERSON
    is_whole_name = is_name and len(tokens) <= 3 and tokens[0].isalpha() and tokens[0][1:].islower() and is_capital
    if not is_whole_name or low[-1] in names("tools") or " ".join(low) in names("places"):
        return Who.THING
    acts = verb in words("personal_verbs") or pattern("personal_state").match(" ".join(told[size:]))
    is_personal = acts and not low[-1].endswith("s")
    return Who.PERSON if low[0] in people or is_personal else Who.THING


def _bare(token: str) -> str:
    return token.strip(',.;:!()"').removesuffix("'s") if token.endswith(",") else token.strip(',.;:!()"')


def _around_verb(tokens: list[str]) -> tuple[list[str], list[str]]:
    """The auxiliaries and adverbs before the verb of a clause, and what begins with the verb; nothing without one."""
    seen: list[str] = []
    for place, token in enumerate(tokens[:8]):
        word = token.lower().rstrip(",")
        is_before = token != "May" and (word in words("auxiliaries") or word in words("adverbs"))
        if not is_before and not (word in _GOING and tokens[place + 1 : place + 2] == ["to"]):
            return seen, tokens[place:]
        seen.append(word)
    return [], []


def _clause(
    text: str, subject: str, who: Who, before: list[str], rest: list[str], resolved: bool, opinion: str
) -> Clause | None:
    word = rest[0].lower().strip(",.")
    verb, ongoing, seen = lemma_of(word), word.endswith("ing"), set(before)
    # `has got` is `has`.
    if word == "got" and not seen.isdisjoint(("has", "have")):
        word, verb, seen = "has", "have", seen - {"has", "have"}
    is_being = not seen.isdisjoint(words("being"))
    has = not seen.isdisjoint(("have", "has", "haven't", "hasn't"))
    is_known = bool(verb) and (ongoing or not is_being)
    # `have been moved` and `has dissolved` are told by the participle, whatever its verb.
    if not is_known and has and is_past(word):
        verb, ongoing, is_known = ("be" if is_being else word), False, not is_being
    elif not is_known:
        verb, ongoing = ("be" if is_being else "have" if has or "had" in seen else ""), False
        if not verb and not seen.isdisjoint(("do", "does")) and word in words("articles"):
            verb = "do"
        # Behind I, we or an auxiliary stands a verb, also one that no list has.
        if (
            not verb
            and (who in (Who.SELF, Who.WE) or seen & words("auxiliaries") - {"not", "no", "never"})
            and word.isalpha()
        ):
            verb, is_known = word, True
    if not verb:
        return None
    is_due = has and "to" in seen and verb != "be"  # what one has to do is not done
    return Clause(
        text=text,
        subject=subject,
        who=who,
        verb=verb,
        tail=pattern("then_moved").sub("", " ".join(rest[1:] if is_known else rest)),
        resolved=resolved,
        is_bare=False,
        opinion=opinion,
        past=not seen.isdisjoint(words("past")) or (is_known and is_past(word) and not has),
        perfect=has and is_known and not is_due,
        ongoing=ongoing,
        future=not seen.isdisjoint(words("future")),
        could=is_due or not seen.isdisjoint(words("conditional")),
        negated=not seen.isdisjoint(words("negations")),
        hedged=not seen.isdisjoint(words("hedges")) or opinion not in ("", "know", "found out"),
    )
