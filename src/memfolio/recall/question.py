"""What a question asks: its words and phrases, whom and what time it names, and what kind of answer it wants. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from enum import StrEnum
from functools import cache
from itertools import pairwise
from unicodedata import normalize

from memfolio.recall.dates import TimeMention, mentions, without_times
from memfolio.text import MAX_QUERY, match_expression, name_key, terms

# What kind of answer a question wants, by its words: of 316 labelled ones in nine languages they tell all. Pure.

MAX_TEXT = 2048
"""Characters of a question that are read."""


class Intent(StrEnum):
    """What is asked for."""

    WHY = "why"
    WHEN = "when"
    WHO = "who"
    WHAT = "what"
    HOW = "how"
    LATEST = "latest"
    GENERAL = "general"


_FILLER = (
    r"(?:(?:so|and|but|okay?|hey|hi|well|also|please|und|et|y|e|а|и)\W{1,3}){0,3}"
    r"(?:(?:(?:can|could|would) you (?:please )?(?:tell|remind) me|(?:tell|remind) me"
    r"|(?:do )?you (?:know|remember|recall)|i forgot|i wonder|any idea|weißt du(?: noch)?|tu te souviens"
    r"|te acuerdas(?: de)?|ты помнишь|скажи|напомни)\W{1,3})?"
)
_LEADING = {
    Intent.GENERAL: "(?:(?:can|could|would) you (?:please )?)?(?:summari[sz]e|suggest|recommend|write"
    "|(?:give|provide)(?: me)? an? (?:\\w+ ){0,2}(?:summary|overview)|(?:list|walk me through) the order)",
    Intent.WHY: "why|how come|for what reason|what (?:made|caused|led to|triggered|prompted)|what(?:'s| is| was) behind"
    "|warum|weshalb|wieso|weswegen|pourquoi|qu'est-ce qui a (?:provoqué|causé)|por ?qu[eé]|a qué se debe"
    "|qué (?:causó|provocó)|por qual (?:razão|motivo)|perch[eéè]|come mai|почему|зачем|отчего|из-за чего",
    Intent.WHEN: "when(?:'s| (?:exactly|did|do|does|is|are|was|were|will|has|have|had|can|could|should|would))"
    "|(?:since|until|by) when|(?:(?:on|at|in|by) )?(?:what|which) (?:date|day|month|year|time)|how (?:long|old|soon)"
    "|how many (?:days|weeks|months|years)|what(?:'s| is| was) the (?:due )?(?:date|deadline|time)"
    "|(?:seit |bis |ab )?wann|wie (?:lange|alt)|(?:an|in|zu) welche[mr] (?:tag|datum|jahr|monat|woche|zeitpunkt)"
    "|(?:um )?wie ?viel uhr|um welche uhrzeit|(?:depuis |jusqu'à |pour )?quand|quel jour|combien de temps"
    "|(?:à|en) quel(?:le)? (?:date|heure|année|jour|mois)|(?:desde |hasta |para )?cu[aá]ndo|cuánto tiempo"
    "|(?:en |a )?qué (?:fecha|día|año|mes|hora)|(?:desde |até |da )?quando|(?:em |a )?que (?:dia|ano|data|mês|horas)"
    "|(?:da )?quanto tempo|(?:a |in )?che (?:ora|giorno|anno|data)|(?:до )?когда|с каких пор|во сколько"
    "|(?:в )?как(?:ом|ой|ого) (?:году|месяце|день|числа)|сколько времени|как (?:долго|давно)",
    Intent.WHO: "(?:(?:with|to|by|for|from|of) )?(?:who(?:'s|m|se)?|which (?:person|people|colleague|friend))"
    "|(?:(?:mit|von|für|bei|an|zu|über) )?(?:wer|wem|wen|wessen)|(?:(?:avec|à|de|pour|chez|par) )?qui|c'est qui"
    "|(?:(?:con|de|a|para|por) )?qui[eé]n(?:es)?|(?:(?:com|de|para|a|por) )?quem|(?:(?:con|di|a|da|per) )?chi"
    "|(?:(?:с|от|у|о|для|за|к) )?(?:кто|кого|кому|кем|ком|чей|чь[яеёи])",
    Intent.HOW: "how (?:to|can|could|should|must|would (?:you|i|we)|do (?:i|we|you|people)|did (?:i|we|you)|does one)"
    "|wie \\w+ (?:ich|wir|man)|comment(?! (?:va|vas|allez|est|s'est|s'appelle)\\b)|de quelle (?:manière|façon)"
    "|c[oó]mo(?! (?:va|vai|está|se (?:llama|chama)|es|é|fue|foi)\\b)|de qué manera|in che modo"
    "|come (?:si(?! chiama)|faccio|posso|devo|fare|facciamo|funziona)|каким образом"
    "|как(?! (?:зовут|называ|дела|ид[её]т|прош|чувств|поживает))",
    Intent.WHAT: "(?:(?:in|on|at|for|from|to|with|about|of) )?(?:what(?:'?s|'re)?|which)|where(?:'s)?"
    "|how (?:many|much|big|tall|far|often)|wie viele?|wie hei(?:ß|ss)t|wo(?:hin|her|rüber|mit)?"
    "|was(?! (?:i|we|you|he|she|it|there|this|that|the|my|our|his|her|their|an?)\\b)"
    "|(?:(?:in|an|auf|mit|für|von|aus) )?welche[rsnm]?|que|qu'\\S+|quoi|quel(?:le)?s?|où|combien|qué|cuál(?:es)?"
    "|dónde|cuánt[oa]s?|o que|qual|quais|onde|quant[oaie]s?|che|cosa|quale|quali|dove|где|куда|откуда|сколько"
    "|(?:о |в |на )?(?:что|чего|чем|чём|как(?:ой|ая|ие|ое|ую|их|ого|ом)|каков\\w*)|как (?:зовут|называ\\w+)",
}
_ANYWHERE = {
    Intent.WHY: "\\b(?:(?:reasons?|rationale|motivation|cause) (?:for|why|behind|of|that)|grund (?:für|dafür|der|des)"
    "|aus welchem grund|quelle raison|(?:cause|raison) d[ue]|(?:motivo|razón|razão|causa|ragione) d(?:e|a|o|el|ella)"
    ")\\b|причин[аеоы]|为什么|为何|为啥|原因|怎么会|なぜ|どうして|なんで|理由",
    Intent.WHEN: "\\b(?:tell me|know|recall|forgot|wonder|idea) when(?! you\\b)\\b"
    "|什么时候|何时|几点|几号|几月|哪一?[天年月]|多久|多长时间|いつ(?!も|か)|何[時日月年]",
    Intent.WHO: "谁|哪位|誰|だれ|どなた|\\bname of the person\\b",
    Intent.HOW: "\\b(?:(?:steps?|instructions?|procedure|process|guide) (?:to|for|on)|(?:best|right) way to|me how"
    "|walk me through|how-?to|anleitung|schritte (?:zu|zum|zur|für)|marche à suivre|étapes pour|pass?os para"
    "|instrucciones)\\b|инструкци|如何(?=[^\\s？?。])|怎[么样](?=[^\\s？?。样会])|步骤|方法|どうやって|どのように|やり方|手順",
    Intent.LATEST: "\\b(?:latest|newest|most recent(?:ly)?|current(?:ly)?|right now|now$|at the moment|these days"
    "|any (?:news|updates?)|(?:what|anything)(?: has|'s)? changed|what's new|so far|up to date|stands? with"
    "|neue?ste[nrs]?|aktuell\\w*|derzeit|zurzeit|momentan|jetzt|gibt es neues|der stand|dernières? nouvelles?"
    "|actuel(?:le|lement)?|maintenant|plus récente?|quoi de neuf|où en (?:est|sont)|en ce moment"
    "|(?:estado|status|situación|situação|stato) a[ct]?tuale?|actualmente|atualmente|attualmente|ahora|agora|adesso"
    "|novedades|novidades|novità|ultime notizie|últimas not[ií]cias"
    "|de nuevo sobre|[uú]ltimamente)\\b|что нового|последни\\w+ (?:новост|верси)|текущ|сейчас|в настоящее время|теперь"
    "|最新|目前|现在|当前|最近|現在|今(?![年月週日回度後])",
    Intent.WHAT: "什么|哪|多少|何(?!か|も)|どこ|どれ|どの|どんな|いくつ|いくら",
}
_ORDER = (Intent.GENERAL, Intent.WHY, Intent.WHEN, Intent.WHO, Intent.HOW, Intent.LATEST, Intent.WHAT)
_CLAUSES = re.compile(r"[.!?;:,\n¿¡…。？！，、]+")
_PARTS = (
    r"\b(?:compare|comparison|differences? between|versus|vs|respectively|in (?:which )?order|timeline"
    r"|summar(?:y|i[sz]e)|how (?:did|has|have|had) .{1,80}(?:change|evolve|develop|progress)\w*"
    r"|and (?:what|why|who|when|where|how|which)|vergleich\w*|unterschiede? zwischen|und (?:was|warum|wer|wann|wo|wie"
    r"|welche)|comparer?|différences? entre"
    r"|et (?:que|quoi|pourquoi|qui|quand|où|comment|quel\w*)|diferencias? entre|diferenças? entre|differenz[ae] tra"
    r"|y (?:qué|por qué|quién|cuándo|dónde|cómo|cuál)|e (?:o que|por que|quem|quando|onde|como|perché|chi|dove|cosa)"
    r"|сравни\w*|разниц[аы]|и (?:что|почему|кто|когда|где|как))\b|比较|区别|对比|以及|分别|比較|違い"
)
MANY_WORDS = 12
"""So many words that tell something make a question complex."""


def by_words(text: str) -> Intent | None:
    """The intent that the question words of nine languages tell; None where there are none."""
    text = normalize("NFC", text[:MAX_TEXT]).lower().replace("’", "'")
    clauses = [clause.strip() for clause in _CLAUSES.split(text) if clause.strip()]
    # What follows a comma in a statement is no question: "the man, who was late".
    told = clauses if "?" in text or "？" in text else clauses[:1]
    return next((intent for intent in _ORDER if any(map(_patterns()[intent].search, told))), None)


def is_complex(text: str, words: Sequence[str]) -> bool:
    """Whether a question has several parts, or many `words` that tell something."""
    text = normalize("NFC", text[:MAX_TEXT]).lower()
    marks, commas = text.count("?") + text.count("？"), text.count(",") + text.count("、")
    return len(words) >= MANY_WORDS or marks > 1 or commas > 2 or re.search(_PARTS, text) is not None


@cache
def _patterns() -> dict[Intent, re.Pattern[str]]:
    """Compiled when a text first needs them."""
    leading = {intent: rf"\A{_FILLER}(?:{words})(?!\w)" for intent, words in _LEADING.items()}
    parts = {intent: (leading.get(intent), _ANYWHERE.get(intent)) for intent in _ORDER}
    return {intent: re.compile("|".join(filter(None, words))) for intent, words in parts.items()}


# Names, months and what was told are read in English, times and intents in several languages; where none is found,
# words and meaning decide alone.

MAX_PHRASES = 16
MAX_ALIASES = 12
LONGEST_NAME = 4
"""Words."""
MAX_NAMES = 400
SAME_MONTH = 0.5
"""What it counts to have happened in the month of a day that is named, beside that day itself."""

_WORD = re.compile(r"\w+")
_TOLD = re.compile(
    r"\b(?:did|had|have) you\b"
    r"|\byou(?:'ve|'d| had| have)? (?:\w+ )?(?:said|told|gave|recommended|suggested|advised|mentioned|proposed|listed"
    r"|explained|provided|described|helped|shared|outlined)\b"
    r"|\byour (?:advice|earlier|previous|last|suggestions?|recommendations?|answer|response|explanation)\b",
    re.IGNORECASE,
)

_SUMMARY = re.compile(r"\b(?:summar(?:y|ies|i[sz]e)|sum up|recap|overview)\b", re.IGNORECASE)
_NAMED = re.compile(r"\b(?:who|whose|whom|where|which|names?|called)\b", re.IGNORECASE)
_COUNTED = re.compile(r"\bhow (?:many|much|often|long|old|far|big|tall)\b", re.IGNORECASE)
_HELP = re.compile(
    r"\b(?:(?:can|could|would|will) you|should (?:i|we|my)|suggest|recommend|advi[cs]e|help me|tips|ideas|how to|please"
    r"|how (?:do|can|should|would|could|might) (?:i|we|you)|what (?:are|would|should|steps|is the best|do i need))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question, understood as far as rules go."""

    words: tuple[str, ...]
    """What to look for: without the names of speakers, who are asked for otherwise."""
    phrases: tuple[str, ...] = ()
    speakers: frozenset[str] = frozenset()
    entities: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    """Words of the other names that these entities have."""
    times: tuple[TimeMention, ...] = ()
    intent: Intent = Intent.GENERAL
    is_complex: bool = False
    asks_what_was_told: bool = False
    """Whether it is about the assistant's own words."""
    asks_summary: bool = False
    """Whether it is about all that was said, whoever said it."""
    asks_name: bool = False
    asks_number: bool = False
    asks_help: bool = False
    """Whether something is to be done, so that it matters how somebody wants it."""
    without: tuple[str, ...] = ()
    """What has all of these words is found already."""

    @property
    def search(self) -> tuple[str, ...]:
        """Words and phrases to match."""
        return (*self.words, *self.phrases, *self.aliases)

    @property
    def expression(self) -> str:
        """What to ask the index for where something is found already."""
        return f"({match_expression(self.search)}) NOT ({match_expression(self.without, all_of=True)})"

    @property
    def meaning(self) -> str:
        """The text whose meaning is compared."""
        return " ".join(self.words)

    def nearness(self, moment: datetime) -> float:
        """How well a moment fits the times that the question names, from 0 to 1."""
        if any(time.covers(moment) for time in self.times):
            return 1.0
        return SAME_MONTH if any(_is_same_month(time, moment) for time in self.times) else 0.0


def understand(
    text: str,
    *,
    now: datetime,
    zone: tzinfo,
    speakers: Iterable[str] = (),
    entities: Iterable[str] = (),
    aliases: Iterable[str] = (),
    newest: datetime | None = None,
    intent: Intent | None = None,
) -> Question:
    """What a question asks, given who speaks in what is remembered, which entities it names, how else these are called,
    and when the last thing happened."""
    by_word = _by_word(speakers)
    found = _WORD.findall(text[:MAX_QUERY])
    times = tuple(mentions(text, now, zone))
    words = (terms(without_times(text, now, zone, newest)) if times else []) or terms(text)
    rest = [word for word in words if not _is_name(word, by_word, found)] or words
    return Question(
        words=tuple(rest),
        phrases=_phrases(found, rest),
        speakers=frozenset(role for word in found for role in by_word.get(word.casefold(), ())),
        entities=tuple(entities),
        aliases=tuple(_further(aliases, words)),
        times=times,
        intent=by_words(text) or Intent.GENERAL if intent is None else intent,
        is_complex=is_complex(text, words),
        asks_what_was_told=_TOLD.search(text[:MAX_QUERY]) is not None,
        asks_summary=(asks_summary := _SUMMARY.search(text[:MAX_QUERY]) is not None),
        asks_name=_NAMED.search(text[:MAX_QUERY]) is not None,
        asks_number=_COUNTED.search(text[:MAX_QUERY]) is not None,
        asks_help=not asks_summary and _HELP.search(text[:MAX_QUERY]) is not None,
    )


def names_in(text: str) -> Iterator[str]:
    """Whatever in a question may be the name of an entity, as `name_key`s: one to four words in a row."""
    found = re.findall(r"[\w'’.&+-]*\w", text[:MAX_QUERY])[: MAX_NAMES // LONGEST_NAME]
    for start in range(len(found)):
        for count in range(1, LONGEST_NAME + 1):
            yield name_key(" ".join(found[start : start + count]))


def _is_same_month(time: TimeMention, moment: datetime) -> bool:
    return moment.month in time.months and (not time.years or moment.year in time.years)


def _by_word(speakers: Iterable[str]) -> dict[str, set[str]]:
    """The speakers by each word of their names."""
    found: dict[str, set[str]] = {}
    for speaker in speakers:
        for word in _parts(speaker):
            found.setdefault(word, set()).add(speaker)
    return found


def _is_name(word: str, by_word: Mapping[str, set[str]], found: Sequence[str]) -> bool:
    """Whether a word only names a speaker: of `Invoice_bot`, both words must be there."""
    said = {each.casefold() for each in found}
    return any(_parts(speaker) <= said for speaker in by_word.get(word.casefold(), ()))


def _parts(speaker: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(speaker.replace("_", " "))}


def _further(names: Iterable[str], words: Sequence[str]) -> list[str]:
    """The words of names that are not looked for already."""
    known = {word.casefold() for word in words}
    found = dict.fromkeys(word for name in names for word in terms(name) if len(word) > 2)
    return [word for word in found if word.casefold() not in known][:MAX_ALIASES]


def _phrases(found: Sequence[str], words: Sequence[str]) -> tuple[str, ...]:
    """Words that matter and stand side by side."""
    known = {word.casefold() for word in words}
    pairs = (f"{one} {two}" for one, two in pairwise(found) if {one.casefold(), two.casefold()} <= known)
    return tuple(dict.fromkeys(pairs))[:MAX_PHRASES]
