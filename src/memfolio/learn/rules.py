"""Learning by rules alone: statements, mentions, relations and causes from conversations. Pure; never raises."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import zip_longest

from memfolio.learn.clauses import (
    Antecedent,
    Who,
    by_itself,
    clauses,
    dated,
    in_fact,
    is_given,
    is_made_up,
    is_question,
    is_secret,
    is_small_talk,
    is_taken_back,
    naming,
    opened,
    person_at_end,
    readable,
    shared,
    spelled_out,
    spoken_of,
    take_apart,
)
from memfolio.learn.languages import language_of, told_in
from memfolio.learn.learned import Learned, Relation, Statement, Turn, is_about_person
from memfolio.learn.names import Names, caused, introduced, kinship, related
from memfolio.learn.statements import answered, is_told_of, noted, stated, told_plainly, wished
from memfolio.learn.words import Voice, pattern, words
from memfolio.text import sentences

_UNNAMED = "The user"
_WORD = re.compile(r"[^\W\d_]+")
_JOINER = "\u2060"
_MOST_OF_TOPIC = 4
"""Words of a sentence that only names what is talked about."""
_SHORT = 600
"""Characters of a turn in which it says that it is fiction."""
_FAR = 2
"""After how many turns `he` means nobody any more."""


def says_of_speaker(text: str) -> bool:
    """Whether a text says something about its speaker, such as where they live or what they like."""
    return any(map(is_about_person, learn([Turn(content=text)]).statements))


def is_news(sentence: str) -> bool:
    """Whether a sentence tells what happened, changed or is due, and of whom or what: no mood, no scene, no chat."""
    if language_of(sentence):
        return True
    voice, told = Voice(_UNNAMED), opened(pattern("then_first").sub("", spelled_out(sentence)), is_sentence=True)
    if is_made_up(sentence) or pattern("confided").search(sentence):
        return False
    taken = (take_apart(part, voice, None) for clause in clauses(told) for part in shared(clause))
    return any(said is not None and is_told_of(said) for said in taken)


def learn(turns: Sequence[Turn], people: Iterable[str] = ()) -> Learned:
    """Learn from a conversation. What machines say only helps to understand the people.

    `people` are names of people who are known already.
    """
    known = frozenset(name.casefold() for name in people)
    reader = _Reader(alone=len({turn.speaker for turn in turns if turn.is_person}) <= 1, people=known)
    for place, turn in enumerate(turns):
        if turn.is_person:
            reader.read(turn, place, turns[place - 1] if place else None)
    return reader.learned(turns)


def _with_topic(sentence: str, before: str) -> str:
    """`Ask me about that again in May` with the few words that the sentence before consists of in place of `that`."""
    topic = before.partition(",")[0].strip(" .!")
    is_topic = 0 < len(topic.split()) <= _MOST_OF_TOPIC and not is_small_talk(topic) and not before.endswith("?")
    if not is_topic or not pattern("asks_again").search(sentence):
        return sentence
    return pattern("asks_again").sub(lambda found: f"{found['ask']} {topic[0].lower()}{topic[1:]}", sentence, count=1)


def _meant(clause: str, before: Statement | None) -> str:
    """`Never suggest recipes with them` with what the clause before is about: `I'm allergic to peanuts`."""
    thing = before.object if before else ""
    return pattern("of_it").sub(lambda found: f"{found['how']} {thing}", clause) if thing else clause


class _Reader:
    """What has been collected from a conversation so far."""

    __slots__ = ("_alone", "_heard", "_last", "_names", "_people", "_relations", "_statements")

    def __init__(self, *, alone: bool, people: frozenset[str]) -> None:
        self._alone = alone
        self._people = people
        self._names = Names()
        self._heard: dict[str, int] = {}
        self._last: dict[str, Antecedent | None] = {}
        self._statements: dict[str, Statement] = {}
        self._relations: dict[tuple[str, str, str], Relation] = {}

    def read(self, turn: Turn, place: int, before: Turn | None) -> None:
        voice = Voice(turn.speaker)
        if place - self._heard.get(voice.name, place) > _FAR:
            self._last.pop(voice.name, None)
        self._heard[voice.name] = place
        if voice.name != _UNNAMED:
            self._names.add(voice.name, "person", place)
        if pattern("fiction").search(turn.content[:_SHORT]):
            return
        lines = list(map(spelled_out, readable(turn.content)))
        if before is not None and len(turn.content) < 200 and (answer := answered(before.content, turn.content)):
            lines.append(answer)
        # A joiner behind the dot of a date keeps it from ending a sentence.
        joined = (pattern("ordinal").sub(f"\\1.{_JOINER} ", line) for line in lines)
        told = [each.replace(_JOINER, "") for line in joined for each in sentences(line)]
        told = [dated(_with_topic(each, before), before) for before, each in zip(["", *told], told, strict=False)]
        for sentence, following in zip_longest(told, told[1:], fillvalue=""):
            # From here on it is material to work on, and not what the speaker says.
            if is_given(sentence):
                break
            if not is_secret(sentence) and not is_taken_back(sentence, following):
                self._sentence(sentence, voice, place)

    def _sentence(self, sentence: str, voice: Voice, place: int) -> None:
        self._names.read(sentence, place)
        if language := language_of(sentence):
            for statement in told_in(language, sentence, voice, place):
                self._keep(statement)
            return
        self._tell(sentence, voice, place)
        if sentence.endswith("?") and (whom := self._asked_about(sentence, voice)):
            self._last[voice.name] = whom
        for name, relative, relation in introduced(sentence, voice, place):
            alias = f"{voice.name}'s {relative}" if voice.name != _UNNAMED else ""
            kind = "animal" if relative in words("pets") else "person"
            self._names.add(name, kind, place, alias=alias, weight=6)
            if sentence.endswith("?"):
                self._last[voice.name] = Antecedent(name=f"{voice.inner}'s {relative} {name}", who=Who.PERSON)
            self._relate(relation)
            if relation.predicate == "married-to" or not self._is_told(relative, name):
                self._keep(kinship(name, relative, relation, voice))

    def _tell(self, sentence: str, voice: Voice, place: int) -> None:
        """Keep what a sentence states as a whole, or else clause by clause."""
        whole = opened(sentence, is_sentence=True) + ("?" if sentence.endswith("?") else "")
        marked = pattern("remember").match(whole)
        whole = whole[marked.end() :] if marked else whole
        if (wish := wished(whole, voice, place, self._alone)) is not None:
            self._keep(wish)
        elif not pattern("laughing").search(sentence) and not is_made_up(whole := in_fact(whole) or whole):
            before, settled = None, pattern("settled").search(sentence) is not None
            told = list(clauses(whole))
            for at, clause in enumerate(told, 1):
                # A question mark belongs to the last clause: what comes before it may tell something.
                if is_question(clause) or (at == len(told) and whole.endswith("?")):
                    if at < len(told) and (whom := self._asked_about(clause, voice)):
                        self._last[voice.name] = whom
                    continue
                wish = wished(_meant(clause, before), voice, place, self._alone) if clause != whole else None
                if wish is not None:
                    self._keep(wish)
                elif not (found := self._clause(clause, voice, place, 0.8 if marked else 0.0, settled)) and before:
                    before = self._continue(before, clause, voice)
                else:
                    before = found

    def _clause(self, clause: str, voice: Voice, place: int, importance: float, settled: bool) -> Statement | None:
        """Keep what a clause states; returns its last statement."""
        last: Statement | None = None
        for part in shared(clause):
            if is_small_talk(part):
                continue
            whom = self._last.get(voice.name)
            said = take_apart(naming(part, whom, voice), voice, whom)
            if said is not None and (said := by_itself(said, whom)) is None:
                continue
            if said is not None:
                if said.who is Who.THING and self._is_known(said.subject):
                    said = replace(said, who=Who.PERSON)
                if said.who is Who.PERSON:
                    self._names.is_somebody(said.subject)
                statement = stated(said, place, importance, settled=settled)
                if statement and statement.predicate in ("name", "called") and pattern("pet").search(said.subject):
                    self._names.add(statement.object, "animal", place, weight=6)
                self._last[voice.name] = spoken_of(said, whom, statement is not None)
            else:
                statement = (
                    noted(part, voice, place) if importance and self._alone else told_plainly(part, voice, place)
                )
                # `Cerys Whitlock, she's 24`: a name alone is whom the next clause tells of.
                if pattern("full_name").fullmatch(part):
                    self._last[voice.name] = Antecedent(name=part, who=Who.PERSON)
                elif last_named := person_at_end(part):
                    self._last[voice.name] = last_named
            if statement is not None:
                self._keep(statement)
                last = statement
        return last

    def _asked_about(self, sentence: str, voice: Voice) -> Antecedent | None:
        """The one person whom a question names: `what shall I cook for mum? she's coming on Saturday`."""
        close = {
            f"{voice.inner}'s {(found['own'] or found['kin']).lower()}"
            for found in pattern("asked_kin").finditer(sentence)
        }
        named = {word for word in _WORD.findall(sentence) if word[0].isupper() and self._is_known(word)}
        people = close | named
        is_one = (
            len(people) == 1 and pattern("somebody_of").search(sentence) is None
        )  # `a note to Mia's teacher? she …`
        last = person_at_end(sentence.rstrip("? "))
        if last is not None and all(last.name.endswith(each) for each in people):
            return last
        return Antecedent(name=people.pop(), who=Who.PERSON) if is_one else None

    def _is_known(self, name: str) -> bool:
        """Whether somebody is called so, as is known from before or from this conversation."""
        return name.casefold() in self._people or self._names.has_person(name)

    def _continue(self, before: Statement, clause: str, voice: Voice) -> Statement:
        """Add a clause that is understood only behind the one before: `…, it's going to be Galicia`."""
        is_telling = any(pattern(name).search(clause) for name in ("telling", "ended", "changed", "habit"))
        if (
            len(clause) > 120
            or not is_telling
            or pattern("addressed").search(clause)
            or not pattern("refers").search(clause)
        ):
            return before
        told = voice.retell(clause)
        is_self = told.startswith(voice.name)
        told = voice.inner + told[len(voice.name) :] if is_self else clause[0] + told[1:]
        whole = replace(before, text=f"{before.text}, {told}")
        self._statements.pop(before.text.casefold(), None)
        self._keep(whole)
        return whole

    def _is_told(self, relative: str, name: str) -> bool:
        # `My partner Mehmet and I are writing an app` does not tell who Mehmet is.
        last = list(self._statements.values())[-4:]
        return any(
            name in (each.object, each.subject)
            or each.subject.endswith(f"{relative} {name}")
            or f"is {name}" in each.text
            for each in last
        )

    def _keep(self, statement: Statement) -> None:
        key = statement.text.casefold()
        known = self._statements.get(key, statement)
        turns = tuple(dict.fromkeys((*known.turns, *statement.turns)))
        self._statements[key] = replace(max(known, statement, key=lambda each: each.is_single), turns=turns)

    def _relate(self, relation: Relation) -> None:
        key = (relation.subject, relation.predicate, relation.object)
        known = self._relations.get(key)
        turns = tuple(dict.fromkeys((*known.turns, *relation.turns))) if known else relation.turns
        self._relations[key] = replace(relation, turns=turns)

    def learned(self, turns: Sequence[Turn]) -> Learned:
        mentions = self._names.mentions()
        names = {each.name for each in mentions}
        statements = tuple(self._statements.values())
        for relation in related(statements, mentions):
            self._relate(relation)
        relations = tuple(each for each in self._relations.values() if each.subject in names and each.object in names)
        return Learned(statements=statements, mentions=mentions, relations=relations, causes=tuple(caused(turns)))
