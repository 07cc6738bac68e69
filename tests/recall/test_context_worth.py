"""What is small talk, and what is a question in the same words."""

from __future__ import annotations

from pathlib import Path

import pytest

from memfolio import Memory
from memfolio.recall.context import asked

QUESTIONS = """
When do I start work?|What are we doing today?|What should I work on today?|What is next?|Where do I work
What do I do in the morning?|Who has the night job?|Why did we stop?|How do I start?|Work today?|Hi! Where do I work?
How are you? And when do I start work?|What's up with the deploy?|How are you deploying it?|How is it going with Alex?
Was ist morgen?|Was ist am Abend?|Wann geht es weiter?|Warum weiter?|Wer hat Nacht?|Wo ist mein Tag
Was machen wir heute?|Was geht heute Abend?|Guten Morgen! Was ist heute Abend?|Wie geht es Alex?
Wo arbeite ich?|Wann fange ich an?
Quand est-ce qu'on continue ?|Qui continue ?|Où est-ce que je travaille ?|Pourquoi continue-t-on ?|Ça va, et la suite ?
Quel est mon travail ?|Quand commence le travail ?|Que fait-on ce soir ?|Comment va Alex ?|Bonjour, que fait Alex ?
Quelle est la suite ?|Qui vient demain ?|Comment allez-vous au travail ?
"""
SMALL_TALK = """
how are you?|How are you doing today?|what's up?|What’s up?|all good?|How's it going?|you ok?|Are you there?|really?
ready?|Good morning! How are you?|Good morning everyone, all good?|hi, how are things?|how do you do?
Is everything all right?|nice work, keep going|do it now|ok, stop now|and you?|what's going on?|good night
great job!|good, try again
Wie geht's?|Wie geht es dir?|Wie geht es Ihnen heute?|Alles klar?|alles gut?|Na, wie läuft's?|Und dir?|Bist du da?
Guten Morgen, wie geht's?|Guten Abend!|Gut, weiter!|Was geht ab?|Gute Nacht|Danke, und selbst?|Hallo, alles okay?
Ça va ?|Comment ça va ?|Comment vas-tu ?|Comment allez-vous ?|Bonjour, ça va bien ?|Merci, et toi ?|Tout va bien ?
Salut, ça roule ?|Tu es là ?|Oui, continue|Bonsoir, comment vas-tu ?|Non merci|Très bien, et vous ?
¿Qué tal?|¿Cómo estás?|tudo bem?|come stai?|как дела?
"""


def each(lines: str) -> list[str]:
    return lines.strip().replace("\n", "|").split("|")


@pytest.mark.parametrize("prompt", each(QUESTIONS))
def test_question_in_words_of_small_talk_asks_for_something(prompt: str) -> None:
    assert asked(prompt)


@pytest.mark.parametrize("prompt", each(SMALL_TALK))
def test_greeting_with_a_question_mark_asks_for_nothing(prompt: str) -> None:
    assert asked(prompt) == []


def test_plain_question_is_answered_from_memory(home: Path) -> None:
    with Memory.open(home, background=False) as memory:
        memory.remember("I start work at 9", type="fact")
        memory.remember("Today we are doing the release", type="observation")
        for prompt in ("When do I start work?", "What are we doing today?", "What should I work on today?"):
            assert memory.context(prompt), prompt
        assert memory.context("How are you doing today?") is None
