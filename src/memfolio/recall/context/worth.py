"""Whether a prompt calls for memories at all, and whether what was found has anything to do with it. Pure.

Something is always the best hit, and its score says how it compares with the others, not whether it fits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memfolio.recall.hit import Hit
from memfolio.recall.snippet import shared
from memfolio.text import terms

LOOKED_AT = 10
"""How many of the best are asked whether they fit."""
ENOUGH = 30
"""How many letters of words in common are as good as all words, since nothing answers every word of a long prompt."""
UNKNOWN = 0.6
"""How near in meaning something is that has nothing to do with it: what counts where meanings cannot be compared."""

_SMALL_TALK = frozenset(
    """
    hello hi hey yo hiya howdy greetings welcome thanks thank thx ty cheers ok okay okey k yes yep yeah yup no nope nah
    sure fine good great nice cool awesome perfect excellent wonderful amazing lovely brilliant super well done right
    correct exactly agreed indeed alright absolutely definitely morning afternoon evening night bye goodbye cya see
    later soon lol haha hahaha wow oh ah hm hmm um please sorry pardon congrats congratulations much lot lots job work
    go ahead on continue proceed next again more keep going try sounds looks seems like got understood ready start stop
    now today up going doing really also everyone all guys
    hallo moin servus danke bitte tschüss tschüs gut super genau nein klar prima weiter guten morgen tag abend nacht
    bonjour bonsoir salut merci oui non bien parfait continue beaucoup hola gracias sí bueno vale perfecto buenos buenas
    días tardes noches adiós muchas olá oi obrigado obrigada sim não bom boa ciao grazie sì bene perfetto buongiorno
    buonasera grazie mille привет здравствуйте спасибо нет хорошо отлично ладно пока ок
    """.split()
)


def asked(prompt: str) -> list[str]:
    """The words of a prompt that memories may have something to say about; none for small talk."""
    words = terms(prompt)
    return words if any(_tells(word) for word in words) else []


def _tells(word: str) -> bool:
    return word.casefold() not in _SMALL_TALK and (len(word) > 2 or not word.isascii() or word.isupper())


def fit(words: Sequence[str], hits: Sequence[Hit], full: float) -> float:
    """How much of what is asked the best hits answer, from 0 to 1; `full` is the most that meaning gives to one."""
    best = hits[:LOOKED_AT]
    told = [word for word in words if _tells(word)]
    enough = min(ENOUGH, sum(map(len, told)))
    said = max((sum(map(len, shared(told, _text(hit)))) for hit in best), default=0)
    return (min(1.0, said / enough) if enough else 0.0) / 2 + _meaning(best, full) / 2


def _text(hit: Hit) -> str:
    memory = hit.memory
    return " ".join(filter(None, (memory.content, *memory.tags, memory.role, memory.user)))


def _meaning(hits: Iterable[Hit], full: float) -> float:
    found = [reason.score for hit in hits for reason in hit.why if reason.strategy == "vector"]
    return min(1.0, max(found) / full) if found and full else UNKNOWN
