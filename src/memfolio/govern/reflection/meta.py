"""The second phase: what the reflections of before show beside this one, by rules or by a model that is held to them.

Rules say only what can be counted. What a model says counts sentence by sentence, as far as its words are in what it
was shown.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from memfolio.errors import ModelError
from memfolio.govern.reflection.item import Insights, Item, Reflected, Verb
from memfolio.govern.reflection.knowledge import quote
from memfolio.llm.grounded import is_grounded
from memfolio.llm.model import Model
from memfolio.text import counted

REVIEWED = 20
"""How many reflections a model is shown, the last ones."""
LONGEST = 400
"""Characters of an insight."""
TASK = """\
The material tells what an assistant reflected on before, what its memory holds anew, and what was corrected. Say in \
at most two plain sentences each: learning, what the proposals that were applied or rejected show about what is worth \
keeping; understanding, how what is known about the user has changed; theme, what comes up again and again. Use only \
what the material says, with its names and numbers. Guess at no feelings or motives. Leave a text empty where the \
material shows nothing."""
_SENTENCE = re.compile(r".+?(?:[.!?]+(?:\s+|$)|$)")
_NOUNS = {
    Verb.LEARN: "fact",
    Verb.CONNECT: "connection",
    Verb.MERGE: "merge",
    Verb.ARCHIVE: "archived item",
    Verb.RESOLVE: "resolved contradiction",
    Verb.CORE: "core memory change",
}


class Arc(NamedTuple):
    """What the second phase looks at: reflections, topics, what was replaced by what, and what is proposed."""

    past: Sequence[Reflected]
    topics: Sequence[str]
    replaced: Sequence[tuple[str, str]]
    items: Sequence[Item]


def reviewed(arc: Arc, model: Model | None, notes: list[str]) -> Insights:
    """What can be said, by the model where there is one that answers, else by rules."""
    by_rules = Insights(learning=_learning(arc.past), understanding=_understanding(arc.replaced), theme=_theme(arc))
    if model is None:
        return by_rules
    shown = _shown(arc, by_rules)
    try:
        answer = model.ask(TASK, shown, Insights)
    except ModelError as error:
        notes.append(f"insights without the model: {error.message}")
        return by_rules
    told = {name: _grounded(getattr(answer, name), shown) for name in ("learning", "understanding", "theme")}
    return replace(by_rules, **{name: text for name, text in told.items() if text})


def _grounded(text: str, shown: str) -> str:
    kept = "".join(each for each in _SENTENCE.findall(" ".join(text.split())) if is_grounded(each, shown))
    return quote(kept, LONGEST)


def _shown(arc: Arc, by_rules: Insights) -> str:
    lines = [*map(_told, arc.past[-REVIEWED:]), f"This time it is about: {', '.join(arc.topics)}"]
    lines += [f"Corrected: {quote(old)} → {quote(new)}" for old, new in arc.replaced[:REVIEWED]]
    lines += [f"To be learned: {quote(each.text)}" for each in arc.items if each.verb is Verb.LEARN]
    lines += filter(None, (by_rules.learning, by_rules.understanding, by_rules.theme))
    return "\n".join(lines)


def _told(each: Reflected) -> str:
    asked = f"; asked: {' '.join(each.questions)}" if each.questions else ""
    return f"Reflection {each.number} of {each.at} was {each.outcome}; about: {', '.join(each.topics)}{asked}"


def _learning(past: Sequence[Reflected]) -> str:
    """What became of the proposals of before."""
    if not past:
        return ""
    applied = Counter[str]()
    for each in past:
        applied.update(each.counts)
    told = [counted(applied[verb], noun) for verb, noun in _NOUNS.items() if applied[verb]]
    since = f"In {counted(len(past), 'reflection')} since {min(each.at for each in past)}"
    rejected = [f"#{each.number}" for each in past if each.outcome == "rejected"]
    refused = f" You rejected {_listed(rejected)}: those proposals are not made again." if rejected else ""
    return quote(f"{since} you approved {_listed(told) or 'nothing'}.{refused}", LONGEST)


def _understanding(replaced: Sequence[tuple[str, str]]) -> str:
    """What was held to be so and is not."""
    if not replaced:
        return ""
    shown = [f"“{quote(old, 60)}” became “{quote(new, 60)}”" for old, new in replaced[:2]]
    return f"{counted(len(replaced), 'revision')} since the last reflection: {'; '.join(shown)}."


def _theme(arc: Arc) -> str:
    """What comes up again and again, and what was asked more than once."""
    counts = Counter(topic.casefold() for each in arc.past for topic in dict.fromkeys(each.topics))
    again = [topic for topic in arc.topics if counts[topic.casefold()]]
    most = sorted(again, key=lambda topic: -counts[topic.casefold()])[:3]
    named = ", ".join(f"{topic} ({counts[topic.casefold()]} of {len(arc.past)})" for topic in most)
    parts = [f"What came up in reflections before and does so again: {named}."] if named else []
    asked = Counter(question for each in arc.past for question in dict.fromkeys(each.questions)).most_common(1)
    parts += [f"Asked in {count} reflections: {quote(question, 160)}" for question, count in asked if count > 1]
    return quote(" ".join(parts), LONGEST)


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))
