"""Whether a prompt calls for memories at all, and whether what was found has anything to do with it. Pure.

Something is always the best hit, and its score says how it compares with the others, not whether it fits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from memfolio.recall.asking.intent import Intent, by_words
from memfolio.recall.hit import Hit
from memfolio.recall.snippet import shared
from memfolio.text import terms

LOOKED_AT = 10
"""How many of the best are asked whether they fit."""
ENOUGH = 30
"""How many letters of words in common are as good as all words, since nothing answers every word of a long prompt."""
UNKNOWN = 0.6
"""How near in meaning something is that has nothing to do with it: what counts where meanings cannot be compared."""

_POLITE = frozenset(
    """
    hello hi hey yo hiya howdy greetings welcome thanks thank thx ty cheers ok okay okey k yes yep yeah yup no nope nah
    sure fine good great nice cool awesome perfect excellent wonderful amazing lovely brilliant super well done right
    correct exactly agreed indeed alright absolutely definitely bye goodbye cya see later soon lol haha hahaha wow oh ah
    hm hmm um please sorry pardon congrats congratulations much lot lots go ahead on again more keep going sounds looks
    seems like got understood ready up really also everyone all guys
    hallo moin servus danke bitte tschüss tschüs gut super genau nein klar prima guten
    bonjour bonsoir salut merci oui non bien très parfait beaucoup hola gracias sí bueno vale perfecto buenos buenas
    adiós muchas olá oi obrigado obrigada sim não bom boa ciao grazie sì bene perfetto buongiorno buonasera mille
    привет здравствуйте спасибо нет хорошо отлично ладно пока ок
    """.split()
)
_EITHER = frozenset(
    """
    morning afternoon evening night job work start stop continue proceed next try now today doing
    weiter morgen tag abend nacht días tardes noches
    """.split()
)
"""Words of small talk that questions need too: "nice work" and "where do I work?"."""
_GREETING = re.compile(
    r"\b(?:good|guten?|buen[oa]s) (?:morning|afternoon|evening|night|morgen|tag|abend|nacht|días|tardes|noches)\b"
    r"|\b(?:how(?: are|['’]re) (?:you|things)(?: all| guys)?(?: doing| feeling| going)?(?: today| now)?"
    r"|how(?: is|['’]s) (?:it|everything|life)(?: going)?(?: today)?|how (?:have you been|do you do)|and (?:you|yours)"
    r"|what(?: is|['’]s) (?:up|going on|happening)(?: today)?|(?:are )?you (?:there|ok(?:ay)?|ready)(?: now)?"
    r"|(?:is )?everything (?:ok(?:ay)?|all right|alright|fine|good)"
    r"|wie (?:geht|läuft)(?:['’]?s| es)(?: denn)?(?: dir| euch| ihnen)?(?: so)?(?: heute)?|was geht(?: ab)?"
    r"|alles (?:klar|gut|okay?|in ordnung|fit)(?: bei (?:dir|euch))?|bist du (?:noch )?da|und (?:dir|euch|ihnen|selbst)"
    r"|(?:comment )?(?:ça|ca) (?:va|roule)(?: bien)?|tout va bien|comment (?:vas[- ]tu|allez[- ]vous|tu vas)"
    r"|et (?:toi|vous)|tu es là|qué tal(?: estás| todo)?|cómo (?:estás?|va(?: todo)?|te va)|todo bien|y (?:tú|usted)"
    r"|tudo (?:bem|bom)|como vai(?: você)?|come (?:stai|va|state)|tutto bene|как (?:дела|ты|жизнь|поживаешь)"
    r")\s*(?:[?!.,;:]+|\Z)",
    re.IGNORECASE,
)
_QUESTIONS = (Intent.WHY, Intent.WHEN, Intent.WHO, Intent.WHAT, Intent.HOW)


def asked(prompt: str) -> list[str]:
    """The words of a prompt that memories may have something to say about; none for small talk."""
    rest = _GREETING.sub(" ", prompt)
    words = terms(rest)
    if not any(map(_tells, words)) and not (_is_question(rest) and any(map(_may_tell, words))):
        return []
    return words if rest == prompt else terms(prompt)


def _is_question(text: str) -> bool:
    return "?" in text or "？" in text or by_words(text) in _QUESTIONS


def _tells(word: str) -> bool:
    return _may_tell(word) and word.casefold() not in _EITHER


def _may_tell(word: str) -> bool:
    return word.casefold() not in _POLITE and (len(word) > 2 or not word.isascii() or word.isupper())


def fit(words: Sequence[str], hits: Sequence[Hit], full: float) -> float:
    """How much of what is asked the best hits answer, from 0 to 1; `full` is the most that meaning gives to one."""
    best = hits[:LOOKED_AT]
    told = list(filter(_tells, words)) or list(filter(_may_tell, words))
    enough = min(ENOUGH, sum(map(len, told)))
    said = max((sum(map(len, shared(told, _text(hit)))) for hit in best), default=0)
    return (min(1.0, said / enough) if enough else 0.0) / 2 + _meaning(best, full) / 2


def _text(hit: Hit) -> str:
    memory = hit.memory
    return " ".join(filter(None, (*hit.heading, memory.content, *memory.tags, memory.role, memory.user)))


def _meaning(hits: Iterable[Hit], full: float) -> float:
    found = [reason.score for hit in hits for reason in hit.why if reason.strategy == "vector"]
    return min(1.0, max(found) / full) if found and full else UNKNOWN
