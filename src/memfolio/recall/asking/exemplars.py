"""Questions whose intent is known, to compare others with: a line each, in six languages."""

from __future__ import annotations

from memfolio.recall.asking.intent import Intent

_LINES = {
    Intent.WHY: """
        Why did we decide against it?
        What was the reason for the change?
        Warum haben wir das so gemacht?
        Was war der Grund dafür?
        Pourquoi a-t-on choisi cette solution ?
        ¿Por qué lo hicimos así?
        Почему мы так решили?
        为什么我们这样决定？
        """,
    Intent.WHEN: """
        When did that happen?
        What date did we start?
        How long ago was it?
        Wann ist der nächste Termin?
        Quand cela s'est-il passé ?
        ¿Cuándo ocurrió?
        Когда это произошло?
        那是什么时候发生的？
        """,
    Intent.WHO: """
        Who said that?
        Who is responsible for it?
        Wer hat das gesagt?
        Qui en est responsable ?
        ¿Quién dijo eso?
        ¿Con quién hablamos?
        Кто за это отвечает?
        这是谁说的？
        """,
    Intent.WHAT: """
        What do you know about her?
        Which one did we choose?
        Where does he live?
        How many are there?
        Was weißt du über ihn?
        Où habite-t-elle ?
        ¿Qué sabes de ella?
        Какой мы выбрали?
        你了解他什么？
        """,
    Intent.HOW: """
        How do I set it up?
        How do we usually do this?
        What are the steps to install it?
        Wie machen wir das normalerweise?
        Comment l'installer ?
        ¿Cómo se instala?
        Как это настроить?
        我们通常怎么做？
        """,
    Intent.LATEST: """
        What's the latest on this?
        What is the current status?
        Is there any news?
        Was gibt es Neues dazu?
        Quelles sont les dernières nouvelles ?
        ¿Cuál es el estado actual?
        Каков текущий статус?
        有什么最新消息？
        """,
    Intent.GENERAL: """
        Summarize our conversation.
        Write a short text about it.
        Does she like music?
        project notes
        Fasse das zusammen.
        Aime-t-il la musique ?
        Haz un resumen.
        Он любит музыку?
        总结一下。
        """,
}

EXEMPLARS = tuple((intent, line.strip()) for intent, lines in _LINES.items() for line in lines.strip().splitlines())
"""Each intent with a question that has it."""
