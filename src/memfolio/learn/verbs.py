"""English verbs as far as statements need them: what a form belongs to, and how others say what somebody says."""

from __future__ import annotations

from functools import lru_cache

_IRREGULAR = """
be am is are was were been being|have has had having|do does did done doing|go goes went gone going|
get gets got gotten getting|buy bought|sell sold|leave left|lose lost|win won winning|break broke broken|meet met|
begin began begun beginning|run ran running|write wrote written|read|speak spoke spoken|teach taught|
drive drove driven|grow grew grown|keep kept|bear born bore|come came|become became|see saw seen|eat ate eaten|
drink drank drunk|sing sang sung|swim swam swum swimming|sleep slept|feel felt|think thought|know knew known|
find found|build built|make made|take took taken|give gave given|tell told|say said|choose chose chosen|stand stood|
spend spent|send sent|hold held|wear wore worn|wake woke woken|fly flew flown|ride rode ridden|fall fell fallen|
pay paid|put putting|set setting|quit quitting|cut cutting|hit hitting|cost|hurt|let|bring brought|catch caught|
fight fought|forget forgot forgotten|hear heard|lead led|mean meant|understand understood|draw drew drawn|throw threw|
show showed shown|lie lay|die dying|marry married|study studied|try tried|carry carried|plan planned planning|
ship shipped shipping|stop stopped stopping|log logged logging|travel traveled travelled travelling|swap swapped|
jog jogged jogging|enrol enrolled|prefer preferred preferring rather|refer referred|knit knitted knitting|
program programmed programming|label labelled|tend|need|feed fed|breed bred|bleed bled
"""
_REGULAR = """
live reside work study major attend tutor coach hail play own use manage head supervise train practise practice collect
raise foster cook bake paint dance hike cycle fish garden sew learn volunteer suffer weigh earn belong believe graduate
celebrate listen depend require support deploy host store contain consist expire return connect integrate handle release
serve target follow test track default like love enjoy hate dislike detest adore loathe despise favour favor fancy crave
mind avoid want adopt purchase move retire resign join start finish complete fracture launch publish pass fail visit
sign enroll hire open close switch migrate upgrade climb book receive land accept decline reject change cancel turn fix
watch decide agree pick settle develop maintain rely talk call name rename relocate propose engage divorce separate
promote register apply compete perform record direct design create organize organise donate plant renovate rent lease
share commute smoke exercise meditate pray worship identify wish hope promise remind remember note schedule happen last
end cover include ask answer reply format consider suggest recommend look seem appear help wonder appreciate thank worry
suppose guess doubt assume imagine stay walk step specialize specialise focus contribute postpone reschedule delay
insist invest save owe borrow lend subscribe convert replace remove add implement ship import export cache expose
"""
ADVERBS = frozenset(
    """
also just really always never usually often sometimes currently now still already recently finally actually mostly
mainly generally typically normally probably definitely maybe perhaps possibly absolutely totally truly deeply honestly
personally especially particularly only even both rarely seldom hardly barely ever kinda sorta simply officially
apparently supposedly much strongly slightly greatly secretly lately then soon almost nearly quite so very occasionally
regularly frequently sincerely genuinely certainly obviously originally previously formerly primarily largely basically
literally hopefully temporarily permanently thankfully sadly luckily longer unfortunately fortunately meanwhile however
""".split()
)
HEDGES = frozenset("maybe perhaps possibly probably might may apparently supposedly kinda sorta hopefully".split())
MODALS = frozenset("will would can could shall should may might must cannot can't won't wouldn't couldn't".split())
NEGATIONS = frozenset(
    "not never n't don't doesn't didn't isn't aren't wasn't weren't haven't hasn't hadn't can't cannot won't "
    "wouldn't couldn't shouldn't no".split()
)
AUXILIARIES = (
    MODALS | NEGATIONS | frozenset("am is are was were be been being have has had do does did 'll shouldn't to".split())
)
_NO_PAST = frozenset("need feed breed bleed speed proceed succeed exceed embed shed wed seed weed".split())
_THIRD = {
    "am": "is", "have": "has", "do": "does", "don't": "doesn't", "haven't": "hasn't", "ain't": "isn't", "go": "goes",
}  # fmt: skip
_NO_VERB = frozenset("and or but to of the a an in on at for with who that which my our than as too either".split())


def _forms() -> dict[str, str]:
    forms: dict[str, str] = {}
    for group in _IRREGULAR.replace("\n", " ").split("|"):
        lemma, *others = group.split()
        forms |= dict.fromkeys([*_inflected(lemma), *others], lemma)
    for lemma in _REGULAR.split():
        forms |= dict.fromkeys(_inflected(lemma), lemma)
    return forms


def _inflected(lemma: str) -> tuple[str, ...]:
    stem = lemma.removesuffix("e")
    past = lemma[:-1] + "ied" if lemma.endswith("y") and lemma[-2] not in "aeiou" else stem + "ed"
    return lemma, third(lemma), past, stem + "ing", lemma + "ing"


def third(base: str) -> str:
    """What he or she does, from what I do: `goes`, `tries`, `lives`."""
    if base in _THIRD:
        return _THIRD[base]
    if base.endswith(("s", "x", "z", "ch", "sh", "ss")):
        return base + "es"
    if base.endswith("y") and base[-2:-1] not in "aeiou":
        return base[:-1] + "ies"
    return base + "s"


FORMS = _forms()
_PASTS = frozenset(
    form for form, lemma in FORMS.items() if form not in _inflected(lemma) and not form.endswith("ing")
) - {"am", "is", "are", "has", "does", "goes", "rather"} | {"quit", "read", "hurt", "split", "cut", "hit"}


@lru_cache(maxsize=4096)
def lemma_of(word: str) -> str:
    """The verb that a form belongs to, or an empty string for what is no verb that is known."""
    return FORMS.get(word, "")


def is_past(word: str) -> bool:
    """Whether a form tells of the past: `went`, `moved`."""
    return word in _PASTS or (word.endswith("ed") and word not in _NO_PAST)


@lru_cache(maxsize=4096)
def as_third(word: str) -> str:
    """The word after `I`, as it is after a name."""
    low = word.lower()
    if low in _THIRD:
        return _THIRD[low]
    if low in AUXILIARIES or low in _NO_VERB or not low.isalpha() or is_past(low) or low.endswith("ing"):
        return word
    return third(low if word.isupper() else word)


@lru_cache(maxsize=4096)
def is_finite(word: str, plural: bool) -> bool:
    """Whether a word can be what somebody does, rather than a part of who does it."""
    if word in AUXILIARIES:
        return word != "to" and word != "no" and word != "being"
    lemma = FORMS.get(word)
    if not lemma or word.endswith("ing"):
        return False
    return is_past(word) or (word == lemma if plural else word == third(lemma))
