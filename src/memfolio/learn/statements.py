"""What a clause or a whole sentence says that is worth keeping, as a statement."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from memfolio.learn.clauses import KIN, PETS, Clause, Who
from memfolio.learn.learned import Statement
from memfolio.learn.words import LANGUAGES, NAMES, OFTEN, PLACES, TIMES, TOOLS, WHEN, Voice, lemma_of, tags_of
from memfolio.types import Kind, Type, default_kind

# What is worth keeping of what somebody does: a verb, how it goes on, and what that says.

PEOPLE, ANYBODY, OURS, THINGS, ALL = "sp", "spw", "w", "t", "spwt"


@dataclass(frozen=True, slots=True, kw_only=True)
class VerbPattern:
    """`starts` are the words with which the verb goes on; an empty one fits anything."""

    starts: tuple[str, ...]
    predicate: str
    who: str = ANYBODY
    type: Type = Type.FACT
    is_single: bool = False
    importance: float = 0.6
    tenses: str = "n"
    """n: at present, p: past, g: under way, f: future."""
    topic: str = ""


_TABLE: tuple[tuple[str, str, str, str, str, str, float, str], ...] = (
    # verbs, how they go on, predicate, who, type, tenses, importance, topic; "!" marks what is single
    ("live reside", "in|at|near|on|outside|by|close to", "!lives_in", ANYBODY, "fact", "ng", 0.8, "home"),
    ("live", "with|alone|together|abroad", "lives_with", ANYBODY, "fact", "n", 0.6, "home"),
    ("live reside", "in|at|near|on", "lived_in", ANYBODY, "fact", "p", 0.5, "home"),
    ("grow", "up in|up on|up near|up with", "grew_up_in", ANYBODY, "fact", "np", 0.6, "home"),
    ("move relocate", "to|into|back to|from", "!lives_in", ANYBODY, "fact", "p", 0.7, "home"),
    ("move relocate", "to|into|back to|from|in with|out", "moves_to", ANYBODY, "fact", "fg", 0.7, "plan"),
    ("work", "at|for", "!works_at", ANYBODY, "fact", "ng", 0.8, "work"),
    ("work", "as", "!job", ANYBODY, "fact", "ng", 0.8, "work"),
    ("work", "in|remotely|from|with|part-time|full-time|night|nights|on a|on an|on the|on my|on our", "works",
     ANYBODY, "fact", "ng", 0.6, "work"),
    ("work", "at|for|as|in", "worked_at", ANYBODY, "fact", "p", 0.5, "work"),
    ("study major", "at|in|abroad||", "studies", ANYBODY, "fact", "npg", 0.6, "education"),
    ("graduate", "from|in|with|as||", "graduated", ANYBODY, "fact", "pfg", 0.6, "education"),
    ("attend", "", "attends", PEOPLE, "fact", "n", 0.5, "education"),
    ("teach tutor coach", "", "teaches", ANYBODY, "fact", "ng", 0.6, "work"),
    ("come hail", "from", "!is_from", ANYBODY, "fact", "n", 0.7, "home"),
    ("speak", "", "speaks", ANYBODY, "fact", "n", 0.6, "language"),
    ("play", "", "plays", ANYBODY, "fact", "ng", 0.5, "hobby"),
    ("own", "", "owns", ANYBODY, "fact", "np", 0.6, "possession"),
    ("drive", "a|an|the|my|to work", "drives", ANYBODY, "fact", "n", 0.5, "possession"),
    ("use", "", "uses", ALL, "fact", "ng", 0.6, "tool"),
    ("switch migrate convert upgrade", "to|from|over", "switched", ALL, "fact", "pfg", 0.6, "tool"),
    ("manage lead head supervise run own", "a|an|the|my|our|marketing|engineering|sales", "manages", ANYBODY,
     "fact", "ng", 0.6, "work"),
    ("run", "on|at|in|under|with|every|as", "runs_on", "wt", "fact", "n", 0.6, "project"),
    (("run jog swim cycle hike climb exercise meditate garden fish dance sing knit sew paint cook bake write "
      "volunteer collect smoke pray commute watch"), "", "does", PEOPLE, "fact", "n", 0.5, "hobby"),
    ("volunteer train practise practice", "", "practises", PEOPLE, "fact", "ng", 0.5, "hobby"),
    ("raise foster grow breed", "", "keeps", ANYBODY, "fact", "ng", 0.5, "possession"),
    ("learn", "", "learns", ANYBODY, "fact", "g", 0.6, "education"),
    ("suffer", "from", "suffers_from", PEOPLE, "fact", "ng", 0.8, "health"),
    ("take", "medication|pills|insulin|lessons|classes|a class|a course|piano|guitar", "takes", PEOPLE, "fact",
     "ng", 0.6, "health"),
    ("wear", "", "wears", PEOPLE, "fact", "n", 0.5, "body"),
    ("weigh earn", "", "measures", PEOPLE, "fact", "n", 0.5, "body"),
    ("wake get", "up at|up early|up around", "gets_up", PEOPLE, "fact", "n", 0.5, "routine"),
    ("go", "by", "!called", PEOPLE, "fact", "n", 0.8, "name"),
    ("go", "to|for|running|swimming|climbing|hiking|fishing", "goes_to", PEOPLE, "habit", "n", 0.5, "routine"),
    ("belong", "to", "belongs_to", ALL, "fact", "n", 0.6, ""),
    ("specialize specialise", "in", "works", ALL, "fact", "n", 0.6, "work"),
    ("identify", "as", "is_a", PEOPLE, "fact", "n", 0.8, "identity"),
    ("contribute", "to", "develops", ANYBODY, "fact", "ng", 0.6, "project"),
    ("handle", "", "responsible_for", "p", "fact", "n", 0.6, "work"),
    ("rename", "", "called", ALL, "fact", "pn", 0.6, "name"),
    ("start leave fly begin retire graduate arrive", "", "plans", ANYBODY, "plan", "n", 0.6, "plan"),
    ("do", "a master|my master|a phd|my phd|a degree|a bachelor|an apprenticeship|an internship", "studies", PEOPLE,
     "fact", "ng", 0.6, "education"),
    ("turn", "1|2|3|4|5|6|7|8|9", "!age", PEOPLE, "fact", "npfg", 0.8, "birthday"),
    ("marry", "", "!married_to", ANYBODY, "fact", "pfg", 0.8, "family"),
    ("like love enjoy adore fancy crave favour favor", "", "likes", ANYBODY, "preference", "n", 0.6, "preference"),
    ("hate dislike detest loathe despise", "", "dislikes", ANYBODY, "preference", "n", 0.6, "preference"),
    ("prefer", "", "prefers", ANYBODY, "preference", "n", 0.6, "preference"),
    ("avoid", "", "avoids", ANYBODY, "preference", "n", 0.6, "preference"),
    ("eat drink", "", "eats", ANYBODY, "preference", "n", 0.6, "food"),
    ("want", ("answers|responses|replies|code|everything|all|messages|summaries|short|concise|the assistant|results|"
      "output|examples|commit|comments"), "wants", "sw", "preference", "n", 0.7, "preference"),
    ("believe", "in", "believes_in", PEOPLE, "fact", "n", 0.5, "belief"),
    ("deploy release ship host store build develop maintain test track log follow meet serve cache", "", "does",
     OURS, "fact", "ng", 0.6, "project"),
    ("develop maintain build design", "a|an|the|my|our", "develops", PEOPLE, "fact", "ng", 0.6, "project"),
    ("depend rely", "on|upon", "depends_on", "wt", "fact", "n", 0.6, "project"),
    (("listen require support contain consist expire connect integrate handle serve target default expose cover "
      "include host store log track cache"), "", "does", THINGS, "fact", "n", 0.6, "project"),
    ("cost start open close end begin last take happen meet live talk need",
     "at|on|in|every|about|around|from|until|to|$|€|£|0|1|2|3|4|5|6|7|8|9|a|an|python|node", "does", THINGS, "fact",
     "n", 0.5, "project"),
    ("adopt buy purchase rent lease inherit", "", "got", ANYBODY, "event", "p", 0.6, "possession"),
    ("get", "promoted|married|engaged|divorced|fired|hired|laid off|diagnosed|accepted|a|an|my|our|the", "got",
     ANYBODY, "event", "pfg", 0.6, "event"),
    ("have", "a baby|a son|a daughter|surgery|an operation|a miscarriage|an accident|twins", "had", ANYBODY,
     "event", "p", 0.7, "family"),
    (("retire quit resign join leave start begin launch release publish found open close sign enrol enroll fly "
      "travel visit go meet adopt buy hire change host perform compete run book attend celebrate propose see"), "",
     "plans", ANYBODY, "plan", "fg", 0.6, "plan"),
    (("retire quit resign join leave start begin finish complete win lose break fracture sell launch release "
      "publish pass fail die visit travel attend meet sign enrol enroll hire found open close upgrade celebrate "
      "climb book receive land accept decline reject cancel fix see watch read make create organize organise donate "
      "plant renovate record perform compete go propose register apply replace remove add implement spend build "
      "write run paint bake hike volunteer take become change move postpone reschedule delay"), "", "did", ALL,
     "event", "p", 0.5, "event"),
    ("decide agree settle", "to|on|that|against|not|we|upon", "decided", "spw", "decision", "npg", 0.7, "decision"),
    ("choose pick", "", "decided", "sw", "decision", "p", 0.7, "decision"),
    ("want hope wish plan", "to", "wants_to", ANYBODY, "wish", "ng", 0.5, "plan"),
)  # fmt: skip

_BEING: tuple[tuple[str, str, str, str, float, str], ...] = (
    ("allergic to|intolerant to|lactose intolerant|gluten intolerant", "allergic_to", ANYBODY, "fact", 0.8, "health"),
    ("named as", "is", ANYBODY, "fact", 0.6, "work"),
    ("called|named|nicknamed|known as", "!called", ALL, "fact", 0.8, "name"),
    ("married to|engaged to", "!married_to", ANYBODY, "fact", 0.8, "family"),
    (("married|single|divorced|engaged|widowed|pregnant|expecting a|expecting twins|separated|retired|unemployed|"
      "self-employed|vegan|vegetarian|pescatarian|diabetic|celiac|coeliac|left-handed|right-handed|colour-blind|"
      "colorblind|color-blind|deaf|blind|gay|lesbian|bisexual|transgender|trans|muslim|christian|jewish|hindu|"
      "buddhist|catholic|atheist|asthmatic|autistic|dyslexic|bilingual|color blind|an only child"), "status", ANYBODY,
     "fact", 0.8, "identity"),
    ("from|originally from", "!is_from", ANYBODY, "fact", 0.7, "home"),
    ("based in|based at|located in|based out of", "!lives_in", ANYBODY, "fact", 0.8, "home"),
    (("based in|based on|located in|located at|written in|hosted on|hosted at|hosted in|hosted by|built with|"
      "built on|built in|built using|deployed on|deployed to|deployed in|deployed at|deployed with|stored in|"
      "stored on|run by|owned by|maintained by|led by|made by|due on|due by|due in|due next|scheduled for|"
      "implemented in|powered by|managed by|called|running on|running in|part of|set to|available at|on port|"
      "kept in|protected by|behind|licensed under|postponed to|moved to|pushed to|delayed to|delayed until|"
      "rescheduled to|rescheduled for|planned for|heated with|connected to|compatible with|limited to|backed by|"
      "encrypted with"), "is", THINGS, "fact", 0.6, "project"),
    ("born in|born on|born", "!born", ANYBODY, "fact", 0.8, "birthday"),
    (("a fan of|a big fan of|a huge fan of|a massive fan of|fond of|into|really into|obsessed with|passionate about|"
      "keen on|crazy about|interested in|addicted to|more of a|a sucker for|partial to"), "likes", ANYBODY,
     "preference", 0.6, "preference"),
    ("afraid of|scared of|terrified of", "fears", ANYBODY, "fact", 0.6, "feeling"),
    (("good at|bad at|terrible at|fluent in|proficient in|great at|experienced in|experienced with|certified in|"
      "a native"), "skill", ANYBODY, "fact", 0.6, "skill"),
    ("responsible for|in charge of|the head of|head of", "responsible_for", ANYBODY, "fact", 0.6, "work"),
    ("on the|in the|on a|in a|in|expecting", "member", PEOPLE, "membership", 0.5, "group"),
)  # fmt: skip
_TYPES = {**{each.value: each for each in Type}, "plan": Type.FACT, "habit": Type.FACT, "wish": Type.OBSERVATION,
          "membership": Type.FACT}  # fmt: skip


def _pattern(starts: str, predicate: str, who: str, type_: str, tenses: str, weight: float, topic: str) -> VerbPattern:
    return VerbPattern(
        starts=tuple(starts.split("|")),
        predicate=predicate.removeprefix("!"),
        who=who,
        type=_TYPES[type_],
        is_single=predicate.startswith("!"),
        importance=weight,
        tenses=tenses,
        topic=topic,
    )


def _by_verb() -> Mapping[str, tuple[VerbPattern, ...]]:
    table: dict[str, tuple[VerbPattern, ...]] = {}
    for verbs, starts, predicate, who, type_, tenses, weight, topic in _TABLE:
        pattern = _pattern(starts, predicate, who, type_, tenses, weight, topic)
        for verb in verbs.split():
            table[verb] = (*table.get(verb, ()), pattern)
    return table


VERBS = _by_verb()
BEING = tuple(_pattern(*row[:4], "np", *row[4:]) for row in _BEING)


def matched(pattern: VerbPattern, tail: str) -> str | None:
    """The words with which `tail` goes on, as the pattern has them; nothing if it goes on otherwise."""
    low = tail.lower()
    for start in pattern.starts:
        if not start or (
            low.startswith(start) and (start[-1:] in "$€£123456789" or not low[len(start) :][:1].isalnum())
        ):
            return start
    return None


def fact(
    predicate: str, *, importance: float = 0.6, single: bool = False, type: Type = Type.FACT, topic: str = ""
) -> VerbPattern:
    """A pattern for what was matched already."""
    return VerbPattern(
        starts=("",), predicate=predicate, importance=importance, is_single=single, type=type, topic=topic or "fact"
    )


# What somebody or something is or has.

_GROUP = re.compile(
    r"\b(?:team|band|club|choir|board|committee|group|orchestra|army|navy|military|year|diet|grade|semester"
    r"|relationship|shift|leave|sabbatical)\b"
)
_NO_THING = re.compile(
    r"(?:an? )?(?:very |really |pretty |super |quite |new |few |couple |great |good |big |small |quick |bad |hard "
    r"|tough |nice |little |lot |bit |tad |huge |real |wonderful |fantastic |amazing |rough |long |busy |similar "
    r"|different |clear |better |solid |strong |feeling|question|problem|issue|idea|look|chance|doubt|time|blast|ball"
    r"|meeting|lot|bit|ton|bunch|few|couple|tough|point|go\b|try|hard|moment|minute|second|plan\b|reason|rest|sense"
    r"|reminder|way|fun|joy|pleasure|relief|must|total|shame|pity|mess|work in progress|game.?changer|step|start"
    r"|break|date\b|goal|call|sec\b|hunch|concern|error|bug|conflict|budget of|deadline|discussion|conversation|chat"
    r"|talk|list|version|function|method|draft|kind|sort|type|part|case|matter|no-brainer|tip|favor|favour|request"
    r"|suggestion|thing|picture|photo|pic\b|screenshot|challenge|process|experience|day\b)",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    r"(?:an?|any|no|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\d+|his|her|their|kids|children"
    r"|pets|twins|siblings|asthma|diabetes|adhd|arthritis|migraines|epilepsy|celiac|anxiety|depression|insomnia"
    r"|dyslexia|type [12]|high blood|brown|blue|green|black|blond|red|curly|access|experience)\b",
    re.IGNORECASE,
)
_APPOINTMENT = re.compile(
    r"\b(?:appointment|interview|exam|flight|meeting|wedding|surgery|demo|presentation|trip|class)\b"
)
_HOUSE = re.compile(
    r"\b(?:office|house|home|flat|apartment|desk|room|school|gym|shop|studio|headquarters|server|farm|cabin|db"
    r"|database)$"
)
_LACKED = re.compile(
    r"\b(?:kids|children|pets?|siblings|car|licen[cs]e|allerg\w+|brothers?|sisters?|any|dog|cat|garden|degree)\b"
)
ATTRIBUTE = re.compile(
    r"'s (?:full |first |last |middle |home |work |current |main |native |new |old |weekly |monthly |preferred "
    r")*(?P<what>name|nickname|birthday|date of birth|age|job|job title|role|title|profession|occupation|address"
    r"|email|email address|phone|number|phone number|hometown|language|mother tongue|time ?zone|budget|salary|height"
    r"|weight|shoe size|blood type|pronouns|manager|boss|employer|company|degree|major|hobby|hobbies|username|handle"
    r"|editor|ide|os|laptop|car|stack|anniversary|zodiac sign|goal|dream|dream job|nationality|religion|surname"
    r"|school|university|deadline|schedule)$",
    re.IGNORECASE,
)
_FAVOURITE = re.compile(
    r"(?:'s|their|his|her|of) (?:all-time |absolute |most )?(?P<least>least )?(?:favou?rite|go-to) "
    r"(?P<what>[\w' -]{2,40})$",
    re.I,
)
_JUDGED = re.compile(
    r"\b(?:best|worst|great|good|bad|awesome|amazing|terrible|horrible|overrated|underrated|better|worse|beautiful"
    r"|ugly|boring|fun|nice|cool|perfect|awful|important|useful|useless|slow|fast|incredible|wonderful|interesting"
    r"|stupid|annoying|delicious|super|lovely|gorgeous|fantastic|hard|tough|easy|crazy|worth|weird|powerful|inspiring"
    r"|empowering|roller ?coaster|(?<!of )experience|journey|reminder|blessing|challenge|struggle)\b"
)


def being(said: Clause) -> tuple[VerbPattern, str] | None:
    """The pattern of what something is, and the words with which the tail begins; nothing if not worth keeping."""
    if said.could or said.future:
        return None
    if favourite := _FAVOURITE.search(said.subject):
        if _JUDGED.search(said.tail):
            return None
        return _favourite(favourite["what"], "least_" if favourite["least"] else ""), ""
    attribute = ATTRIBUTE.search(said.subject)
    if attribute and not _is_loose(said):
        return _attribute(attribute["what"]), ""
    for pattern in BEING:
        fits = said.who in pattern.who and (pattern.predicate != "member" or _is_member(said.tail))
        if fits and (start := matched(pattern, said.tail)) is not None:
            return pattern, start
    return _identity(said)


def _favourite(what: str, least: str) -> VerbPattern:
    predicate = f"{least}favourite_{'_'.join(what.lower().split())}"
    return fact(predicate, single=True, type=Type.PREFERENCE, topic="preference")


def _attribute(what: str) -> VerbPattern:
    predicate = "_".join(what.lower().split())
    return fact(predicate, importance=0.8, single=True, topic=predicate)


def _is_member(tail: str) -> bool:
    if tail.startswith("expecting"):
        return bool(re.search(r"\b(?:child|baby|twins)\b", tail))
    return bool(_GROUP.search(tail))


def _is_loose(said: Clause) -> bool:
    """Whether what is said of an attribute judges it rather than tells it."""
    if said.resolved:
        return not re.match(r"[A-Z\d]", said.tail)
    return bool(
        _JUDGED.search(said.tail)
        or re.match(r"(?:like|so|such|not|over|simple|ready|due|late|broken|\w+ed)\b", said.tail)
    )


def _identity(said: Clause) -> tuple[VerbPattern, str] | None:
    tail = said.tail
    if said.who is Who.THING and (said.past or said.resolved):
        return None
    if re.match(r"\d{1,3}(?: years old| now|$|,| and)", tail) and said.who is not Who.THING:
        return fact("age", importance=0.8, single=True, topic="age"), ""
    if re.match(r"[\d.,]+ ?(?:m|cm|feet|foot|ft|kg|lbs?|kilos)\b", tail):
        return fact("size", importance=0.6, single=True, topic="body"), ""
    if re.match(r"(?:an? )\w", tail):
        if _NO_THING.match(tail) or _JUDGED.search(tail) or (said.past and said.who is Who.SELF and "when" in tail):
            return None
        job = said.who in (Who.SELF, Who.PERSON)
        return fact("is_a", importance=0.8 if job else 0.6, topic="identity" if job else "fact"), tail.split()[0]
    if said.who is Who.SELF and tail[:1].isupper() and not said.past:
        return _name_or_nation(tail)
    if said.who in (Who.SELF, Who.WE) or _JUDGED.search(tail):
        return None
    if favourite := re.match(r"(?:\S+|the user)'s (?P<least>least )?favou?rite (?P<what>[\w -]{2,30})", tail):
        return _favourite(favourite["what"], "least_" if favourite["least"] else ""), ""
    if attribute := ATTRIBUTE.search(tail):
        return _attribute(attribute["what"]), ""
    if re.match(r"(?:the|called|\S+'s) \w|the user's", tail) and not _NO_THING.match(tail[4:]):
        return fact("is"), ""
    if _HOUSE.search(said.subject) and re.match(r"(?:on|in|at|near|next to|behind|above|opposite) ", tail):
        return fact("located_in", single=True, topic="place"), tail.split()[0]
    if said.who is Who.PERSON and re.match(r"\d{1,2} and \d", tail):
        return fact("age", topic="age"), ""
    if said.who is Who.THING and (tail[:1].isupper() or tail[:1].isdigit() or WHEN.match(tail)):
        return fact("is", single=tail.split()[0].lower() not in TIMES), ""
    return None


def _name_or_nation(tail: str) -> tuple[VerbPattern, str] | None:
    first = re.split(r"[\s,]", tail, maxsplit=1)[0]
    if first.lower() in LANGUAGES:
        return fact("nationality", importance=0.8, single=True, topic="identity"), ""
    common = first.lower() in NAMES
    named = common or re.fullmatch(r"[A-Z][a-z]+(?: [A-Z][a-z]+)?(?:,.*)?", tail)
    return (fact("name", importance=0.8, single=common, topic="name"), "") if named else None


def having(said: Clause) -> tuple[VerbPattern, str] | None:
    """The same of what somebody has."""
    if said.verb != "have" or said.could or said.future or said.perfect or said.ongoing:
        return None
    if (
        said.past
        or not (_COUNTED.match(said.tail) or re.search(r"\b(?:every \w+|daily|weekly)\b", said.tail))
        or said.tail.startswith("to ")
    ):
        return None
    if re.fullmatch(r"(?:[\d.,]+|an?|one|two|three|four|five|some)", said.tail):
        return None
    if said.negated and not _LACKED.search(said.tail):
        return None
    if _APPOINTMENT.search(said.tail):
        return (fact("plans", topic="plan"), "") if WHEN.search(said.tail) else None
    if _NO_THING.match(said.tail) and not re.match(r"no (?!idea|problem|doubt|clue|time|plan)|type [12]", said.tail):
        return None
    return fact("has", topic="possession" if said.who is Who.SELF else "fact"), ""


# What somebody or something does, did, plans or has to do.

_LASTING = re.compile(r"\b(?:since|for (?:\w+ ){1,3}(?:years?|months?|weeks?|days?|decades?))\b")
_PLANLESS = re.compile(r"(?:by|for|with|to|at|through|over|off|\w+ing)\b", re.IGNORECASE)
_FOODLIKE = re.compile(r"(?!an?\b|the\b|any\b|too\b|been\b|to\b|more\b|both\b)\w+(?: (?:and|or|\w+)){0,3}")
_TO_DO = re.compile(r"to (?!work|school|church|bed|the|a|my|see)(?:\w+)(?: and|$| with| my| some)")
_ERRAND = re.compile(
    r"to (?:make sure|be sure|know|see|understand|ensure|ask|say|discuss|hear|talk|thank|share|check|confirm|clarify"
    r"|start|use|create|implement|add|explore|find out|figure|get|do|have|be|keep|set|avoid|include|focus|achieve|try"
    r"|handle|show|optimi[sz]e|improve|test|fix|update|mention|point|note|tell|give|display|prevent|integrate|track"
    r"|pick|end|highlight)\b"
)
_SCHOOL = re.compile(r"to (?:[A-Z]|(?:school|kindergarten|daycare|university|college)\b)")
_EFFORT = re.compile(r"(?:hard|prep|for|more|real|a lot)\b")
_IDLE = re.compile(
    r"(?:to|into|with others|about|down|out|up|off|more|the (?:following|same|above|provided)|from|like|ever|again"
    r"|since|along|a (?:ton|lot)|for (?:\w+ ){1,3}(?:days?|weeks?|months?|years?))\b"
)
_UNFIT = {
    **dict.fromkeys(("does", "plays", "uses", "wears", "learns"), _IDLE),
    "speaks": re.compile(r"(?:to|with|about|up|at|of|for)\b"),
}
_ABLE = frozenset("speak play drive swim cook code dance sing".split())


def doing(said: Clause) -> tuple[VerbPattern, str] | None:
    """The pattern of what is done, and the words with which the tail begins; nothing if not worth keeping."""
    if said.verb == "have" and said.negated and " can't " in said.text and _FOODLIKE.fullmatch(said.tail):
        return fact("avoids", type=Type.PREFERENCE, topic="food"), ""
    if said.verb == "stand" and said.negated and said.could:
        return fact("dislikes", type=Type.PREFERENCE, topic="preference"), ""
    if said.verb == "mind" or (said.could and not _may(said)):
        return None
    tense = _tense(said)
    to_tool = said.verb == "move" and any(word.lower() in TOOLS for word in said.tail.split())
    for pattern in VERBS.get("migrate" if to_tool else said.verb, ()):
        if tense in pattern.tenses and said.who in pattern.who and (start := matched(pattern, said.tail)) is not None:
            return (pattern, start) if _fits(pattern, said) else None
    return None


def _may(said: Clause) -> bool:
    if (said.verb in _ABLE and " would " not in said.text) or (said.verb in ("eat", "drink") and said.negated):
        return True
    return said.verb in ("prefer", "like", "love") and not said.past


def _tense(said: Clause) -> str:
    if said.ongoing or said.future:
        return "f" if said.future else "p" if said.past else "g"
    if said.perfect:
        always = " always " in said.text or " never " in said.text
        return "n" if always or _LASTING.search(said.tail) else "p"
    return "p" if said.past else "n"


def _fits(pattern: VerbPattern, said: Clause) -> bool:
    if not said.tail and pattern.predicate not in ("does", "graduated"):
        return False
    if (unfit := _UNFIT.get(pattern.predicate)) and not pattern.starts[0] and said.who in "sp":
        return not unfit.match(said.tail)
    if pattern.predicate == "lives_in" and said.tail.startswith("from "):
        return " to " in said.tail
    if pattern.predicate == "goes_to":
        return bool(_SCHOOL.match(said.tail) or OFTEN.search(said.text)) and not _TO_DO.match(said.tail)
    if pattern.predicate == "plans":
        return _is_plan(said)
    if pattern.predicate == "wants_to":
        return not said.could and not _ERRAND.match(said.tail)
    if pattern.type is Type.EVENT:
        planned = not (said.future or said.ongoing) or (not said.past and bool(WHEN.search(said.tail)))
        return planned and not said.negated and len(said.tail) > 2
    if pattern.predicate in ("likes", "prefers") and said.could and not said.negated:
        return pattern.predicate == "prefers" and not said.tail.startswith("to ")
    return pattern.predicate != "studies" or not _EFFORT.match(said.tail)


def _is_plan(said: Clause) -> bool:
    if said.perfect or said.past or _PLANLESS.match(said.tail):
        return False
    named = said.ongoing and any(word[:1].isupper() for word in said.tail.split())
    return named or bool(WHEN.search(said.tail))


def task(said: Clause) -> tuple[VerbPattern, str] | None:
    """The same of what the speaker has to do by some time."""
    if said.who not in (Who.SELF, Who.WE) or said.negated or said.hedged or not WHEN.search(said.tail):
        return None
    must = said.verb in ("need", "have") and said.tail.startswith("to ")
    if must or (said.future and not said.ongoing):
        return fact("has_to", type=Type.TASK, topic="task"), "to" if must else ""
    return None


# What a clause says that is worth keeping, as a statement.

_UNCLEAR = re.compile(
    r"(?:the (?:latter|former|same|\w+ one|(?:first|second|third|last|other|next|previous)(?: (?:version|option|draft"
    r"|part|image|idea|suggestion|approach|solution|two)|$))|it|that|this|them|those|these|him|their|so|there|one"
    r"|ones|you|your|what|how|why|where|when|who|her|both|all|everything(?! (?:in|on|with|via|to)\b)|anything(?= "
    r"(?:to|that|about|else)\b|$)|something|someone|things|stuff|such|any|whether|if|and|or|but|because|being "
    r"able|hearing|seeing how)\b",
    re.IGNORECASE,
)
_ADDRESSED = re.compile(r"\b(?:you|your|yours|yourself|you're|you've|you'll|you'd|y'all|ya)\b", re.IGNORECASE)
_OPEN_END = re.compile(
    r"\b(?:this|that one|these|those|them|him|here|there|(?<!on )it|to|of|and|the|with) *$"
    r"|\b(?:\w+ing (?:them|him|it)|working on it"
    r"|below|above|following|this (?:today|now)|like (?:this|that)|about (?:it|this|that)|(?:to|of|in|with|from|for"
    r"|sharing|doing|at) (?:that|this|these|those|them|him|it))\b",
    re.I,
)
_CUT = re.compile(
    r"(?:\s*(?:,(?!\d)|[;(])|\s+(?:because|since|but|when|while|which|who|whom|where|so|after|before|although|though"
    r"|if|until|unless|every|ago|anymore|now|right now|these days|as well|too|for (?:\d|a\b|an\b|about|over|almost"
    r"|nearly|many|the (?:last|past))|(?:last|next|this) \w+|on (?:\d|mon|tue|wed|thu|fri|sat|sun)\w*|in (?:\d{4}|jan"
    r"|feb|mar|apr|may\b|jun|jul|aug|sep|oct|nov|dec)\w*|with (?:his|her|their|\w+'s)|and (?:has|is|was|works|lives"
    r"|loves|likes|plays))\b).*",
    re.IGNORECASE | re.DOTALL,
)
_PLAIN_THING = re.compile(
    r"^(?:the|all|every|each|most|both) (?:\w+ ){0,3}?(?:api|apis|app|apps|server|servers|service|services|database"
    r"|db|repo|repository|code|codebase|build|builds|project|deployment|deployments|pipeline|website|site|backend"
    r"|frontend|system|cluster|cron job|job|jobs|script|scripts|endpoint|endpoints|port|office|meeting|meetings"
    r"|standup|stand-up|deadline|release|releases|sprint|sprints|budget|wifi|wi-fi|team|company|tests|test suite|logs"
    r"|staging|staging environment|production|queue|cache|library|module|package|platform|tool|version|branch|config"
    r"|configuration|domain|certificate|key|token|limit|invoice|contract|school|gym|store|shop|launch|wedding|party"
    r"|conference|course|class|house|apartment|flat|car|dashboard|worker|workers|bot|model|models|docs|documentation"
    r"|ci|function|class|method|file|files|folder|directory|setting|flag|variable|default|frontends?|timezone|client"
    r"|customer|kids|schema|gateway|web app|proxy)(?: (?:for|of) (?:the|our|my|\S+'s) \w+(?: \w+)?)?$",
    re.IGNORECASE,
)
_VALUE = re.compile(r"(?:an? |the )?(?!\S+'s )[A-Z\d+]|\S+@")
_QUALIFIED = re.compile(r"'s (?:work|home|old|new|second|other|last|next|weekly|monthly)\b|\balso\b")
_LONG_AGO = re.compile(r"\b(?:when|as|in \d{4}|ago|then)\b")
_CALLED = re.compile(
    rf"'s (?:\w+ ){{0,2}}?(?:{'|'.join(sorted(KIN))}|{PETS}),? (?:named |called )?(?P<name>[A-Z][\w-]+)$"
)


def stated(said: Clause, turn: int, importance: float = 0.0) -> Statement | None:
    """The statement that a clause makes; nothing if it is not worth keeping or does not stand by itself."""
    if said.text.endswith(":") or _ADDRESSED.search(said.text) or _OPEN_END.search(said.text) or _is_unclear(said):
        return None
    if said.who is Who.THING and not _is_definite(said):
        return None
    made = being(said) if said.verb == "be" else having(said) or doing(said)
    made = made or task(said) or (_noted(said) if importance else None)
    if made is None:
        return None
    pattern, start = made
    rest = said.tail[len(start) :].strip()
    unclear = rest != said.tail and pattern.type is not Type.DECISION and _UNCLEAR.match(rest)
    if unclear or re.match(rf"{re.escape(said.subject)}\b(?!')", rest):
        return None
    return _statement(said, pattern, start, turn, importance)


def noted(clause: str, voice: Voice, turn: int) -> Statement | None:
    """What somebody asked to remember, in words that no rule takes apart."""
    if len(clause.split()) < 3 or _UNCLEAR.match(clause) or _ADDRESSED.search(clause) or _OPEN_END.search(clause):
        return None
    text = voice.retell(clause)
    return Statement(
        text=text, type=Type.FACT, kind=Kind.SEMANTIC, turns=(turn,), importance=0.8, tags=tags_of("fact", text)
    )


def _is_unclear(said: Clause) -> bool:
    if said.verb in ("hate", "love", "like", "prefer", "dislike") and said.tail.startswith(("when ", "it when ")):
        return False
    if said.verb == "want":
        return False
    if said.verb == "have" and said.tail.startswith("any "):
        return not said.negated
    return bool(_UNCLEAR.match(said.tail))


def _is_definite(said: Clause) -> bool:
    subject = said.subject
    first = subject.partition(" ")[0].lower()
    if "'s " in subject:
        return True
    if first in ("the", "all", "every", "each", "most", "both"):
        return bool(_PLAIN_THING.match(subject)) or any(
            word[:1].isupper() or word[:1] == "`" for word in subject.split()[1:]
        )
    return first not in ("this", "his", "her", "their") and subject.lower() not in PLACES


def _noted(said: Clause) -> tuple[VerbPattern, str] | None:
    return None if said.could and said.verb == "be" else (fact("noted", importance=0.8), "")


def object_of(tail: str) -> str:
    """What the verb is about: its words up to a comma, a time or a reason."""
    return _CUT.sub("", tail, count=1).strip(" .!\"'")[:120]


def _statement(said: Clause, pattern: VerbPattern, start: str, turn: int, importance: float) -> Statement:
    type_ = pattern.type
    if type_ is Type.PREFERENCE and said.verb in ("like", "love") and said.could and not said.negated:
        type_ = Type.OBSERVATION
    if type_ is Type.EVENT and (said.future or said.ongoing):
        type_ = Type.FACT
    rest = said.tail if start[:1].isdigit() else said.tail[len(start) :].strip()
    thing = object_of(rest)
    if pattern.predicate == "status":
        thing = start
    if said.verb in ("move", "relocate") and pattern.predicate == "lives_in":
        thing = re.sub(r"^.* to (?=[A-Z])", "", thing)
    if pattern.predicate == "job":
        thing = re.split(r"\s+(?:at|for|in)\s+", thing)[0]
    subject, thing = _roles(said, pattern, thing)
    return Statement(
        text=said.text,
        type=type_,
        kind=default_kind(type_) if not (said.held and type_ is Type.OBSERVATION) else Kind.OPINION,
        turns=(turn,),
        subject=subject,
        predicate=pattern.predicate,
        object=thing,
        is_single=pattern.is_single and _is_lasting(said, pattern, thing),
        negated=said.negated and not (said.could and pattern.predicate in ("dislikes", "avoids")),
        confidence=_confidence(said),
        importance=max(importance, pattern.importance),
        tags=tags_of(pattern.topic or type_.value, thing),
    )


def _roles(said: Clause, pattern: VerbPattern, thing: str) -> tuple[str, str]:
    """Whose attribute it is, and what it is: both `my favourite tea is X` and `X is my favourite tea` are about me."""
    owner, _, what = thing.rpartition("'s ")
    if owner and what.lower().replace(" ", "_").replace("favor", "favour").endswith(pattern.predicate):
        return _short(owner), said.subject
    if "favourite_" in pattern.predicate or ATTRIBUTE.search(said.subject):
        return _short(said.subject.rpartition("'s ")[0] or said.subject), thing.removeprefix("on ")
    return _short(said.subject), thing


def _short(subject: str) -> str:
    """Somebody by name alone where they have one, so that all that is said of them is found together."""
    called = _CALLED.search(subject)
    return called["name"] if called else subject


def _is_lasting(said: Clause, pattern: VerbPattern, thing: str) -> bool:
    """Whether it is so now and by itself, and can take the place of what was so before."""
    past = said.past and (pattern.predicate != "lives_in" or bool(_LONG_AGO.search(said.tail)))
    if said.negated or past or said.future or _QUALIFIED.search(said.text):
        return False
    named = pattern.predicate in ("married_to", "is") or bool(ATTRIBUTE.search(said.subject))
    return not named or bool(_VALUE.match(thing))


def _confidence(said: Clause) -> float:
    sure = 0.85 if said.who is Who.SELF else 0.75
    return round(sure * (0.6 if said.hedged else 1.0) * (0.85 if said.resolved else 1.0), 2)


# A short answer, put together with the question that it answers.

_MOST_WORDS = 8
_NO_ANSWER = re.compile(
    r"(?:yes|no|yeah|nope|yep|sure|ok|okay|maybe|i\b|i'm|we\b|not|don't|none|nothing|thanks|good|great|fine|hmm|why"
    r"|what|sorry|it\b|that|my|you|never mind|pass|idk|dunno|nowhere|skip|please|let)\b",
    re.IGNORECASE,
)
_ASKED: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(text, re.IGNORECASE), told)
    for text, told in (
        ((r"where (?:do you live|are you (?:based|living|located))|(?:which|what) (?:city|country|town) (?:do you live"
         r"|are you)"), "I live in {0}"),
        (r"where are you (?:originally )?from|where do you come from", "I am from {0}"),
        ((r"what(?:'s| is) your (?:full |first )?name|what (?:should|can|may|do) I call you|who am I (?:talking"
         r"|speaking)"), "My name is {0}"),
        (r"how old are you|what(?:'s| is) your age", "I am {0}"),
        (r"when(?:'s| is) your birthday|when were you born", "My birthday is {0}"),
        (r"where do you work|who do you work for|which company|what company", "I work at {0}"),
        (r"what do you do(?: for (?:a living|work))?\s*\?|what(?:'s| is) your (?:job|profession|occupation|role)",
         "My job is {0}"),
        (r"are you (?:married|single|vegetarian|vegan|divorced|in a relationship)|marital status", "I am {0}"),
        (r"(?:any|have|got) (?:\w+ ){0,3}?allergies|what are you allergic to|are you allergic", "I am allergic to {0}"),
        (r"what(?:'s| is) your favou?rite (?P<x>[\w ]{2,30})|which (?P<y>\w{2,20}) do you like (?:best|most)",
         "My favourite {x} is {0}"),
        (r"(?:what|which) (?P<x>[\w ]{2,30}) (?:do you|are you|does your team) us(?:e|ing)|what do you use",
         "I use {0}"),
        (r"(?:what|which) languages? do you speak", "I speak {0}"),
        (r"(?:which|what) (?P<x>[\w ]{2,30}) do you prefer|what do you prefer|do you prefer|would you prefer",
         "I prefer {0}"),
        (r"(?:what|which) (?P<x>instruments?|sports?|games?) do you play", "I play {0}"),
        (r"how many (?P<x>[\w ]{2,30}?) (?:do you have|have you got|are (?:on|in) your (?P<y>\w+))", "I have {0} {x}"),
        (r"do you have (?:any )?(?P<x>kids|children|pets|siblings)", "I have {0}"),
        (r"what (?:do|did) you study|what(?:'s| is) your major", "I study {0}"),
        (r"what(?:'s| is) your (?P<x>[\w ]{3,30})\?", "My {x} is {0}"),
    )
)  # fmt: skip


def answered(question: str, answer: str) -> str:
    """What a short answer says, as a sentence of the one who answers; empty where that is not clear."""
    answer = re.split(r"(?<=[.!])\s", answer.strip(), maxsplit=1)[0]
    words = answer.split()
    if not words or len(words) > _MOST_WORDS or "?" in answer or _NO_ANSWER.match(answer) or " is " in answer:
        return ""
    if lemma_of(words[0].lower()) or "\n" in answer:
        return ""
    last = re.split(r"(?<=[.!?])\s+", question[-400:].replace("’", "'").strip())[-1]
    if not last.endswith("?"):
        return ""
    for asked, told in _ASKED:
        if (found := asked.search(last)) and found.groupdict().get("x") not in ("one", "part", "thing"):
            return _filled(told, found.groupdict(), re.sub(r",? please$", "", answer.strip(" .!")))
    return ""


def _filled(told: str, parts: dict[str, str | None], answer: str) -> str:
    bare = re.sub(r"^(?:in|at|as|from|probably|a bit of|to)\s+", "", answer, flags=re.IGNORECASE)
    what = parts.get("x") or parts.get("y") or ""
    if parts.get("x") and parts.get("y"):
        return f"My {parts['y']} has {bare} {parts['x']}"
    return told.format(bare, x=what.strip())


# What whole sentences say: how things are to be done, what was decided, how something is done, what to remind of.

_STANDING = r"(?:from now on|in (?:the )?future|going forward|by default|as a rule|in general|whenever possible)"
_ORDER = re.compile(
    rf"(?:please,?\s+)?(?:(?P<lasting>{_STANDING}),?\s+)?(?:please,?\s+)?(?P<how>always|never|don't ever|do not ever"
    rf"|don't|do not"
    r"|stop|avoid)\s+(?P<what>\w.+)",
    re.IGNORECASE,
)
_KEPT = re.compile(
    rf"(?:please,?\s+)?(?:{_STANDING},?\s+(?:please,?\s+)?(?P<now>\w.+)|(?P<whenever>(?:when|whenever) I (?:ask|say"
    rf"|mention|request|write|send|share|paste) .+?, \w.+)|(?P<then>(?:when(?:ever)?|if|before|after) (?:you|I|we) "
    rf".+?, (?:always |never |please |don't |do not )\w.+)|(?P<style>(?:answer|reply|respond|write|speak|talk)(?: to "
    rf"me)? (?:only )?in "
    r"(?:english|german|french|spanish|italian|portuguese|dutch|polish|chinese|japanese|korean|russian|bullet\w*"
    r"|plain \w+|short \w+|british \w+|american \w+|metric)\b.*|keep (?:(?:it|your|the|all) ?)?(?:answers?|responses?"
    r"|replies|messages?|code|comments|functions|explanations?|things)? ?(?:short|brief|concise|simple|small|formal"
    r"|informal|under \d+ \w+).*|use (?:\w+ ){1,3}(?:instead of|not|rather than|over) \w.+|use (?:metric|imperial"
    r"|british|american|snake_case|camelcase|tabs|spaces|24-hour|celsius|fahrenheit|type hints|single quotes|double "
    r"quotes)\b.*))",
    re.IGNORECASE,
)
_WANT = re.compile(
    r"I (?:(?:really|always|would|'d) )*(?:want|need|expect|prefer|like|'d like|would like|prefer it when) you (?:to "
    r")?(?P<what>(?:always|never|answer|reply|respond|call|use|be|speak|keep|address|avoid|stop|not|only|explain"
    r"|format|ask|check|remember|treat)\b.+)"
)
_ONCE = re.compile(
    r"\b(?:worry|hesitate|forget|mention it|think (?:so|that)|know|be (?:shy|afraid|sad|sorry)|give up|bother|get me "
    r"wrong|go|panic|stress|let|sweat|miss|take it|overthink|be too|just|i\b|we\b|you\b|underestimate|lose"
    r"|mind|remember|again|the|an?|in|on|at|so|such|too|more|before|good|nice|happy|fun|seen|been|heard|(?!need|embed)\w+ed)\b",
    re.IGNORECASE,
)
_WHEN = re.compile(r"(?P<when>(?:when|whenever|if|before|after) [^,]+), (?:please )?(?P<what>.+)", re.IGNORECASE)
_REMIND = re.compile(
    r"(?:please\s+)?(?:remind me|don't let me forget|I must not forget|don't forget) "
    r"(?P<what>(?!.*(?-i:\byou\b))(?:to|about|that) .+)",
    re.IGNORECASE,
)
_DECIDED = re.compile(
    r"(?:(?:ok(?:ay)?|alright|so|great|then|yes|decision|decided),?:? )*(?:let's|let us|we'll|we will|we are going to"
    r"|we're going to|we should|I'll|I will|I'm going to) (?P<verb>go with|stick with|stick to|settle on|switch to"
    r"|move to|choose|use) (?P<what>(?!.*(?-i:\byou\b))(?!it\b|this\b|that\b|them\b|you|the flow|these|those)\w.+)",
    re.IGNORECASE,
)
_STEPS = re.compile(
    r"(?:(?:in order )?to (?!be |me\b|you\b|us\b|my |the |your )(?P<goal>\w[^,]{2,80}), (?:you (?:need to|have to"
    r"|must|should|can) |we |I |just |always |first,? )*(?P<verb>run|use|call|execute|open|start|click|press|type|go"
    r"|set|edit|copy|push|merge|tag|create|install|build|restart|stop|check|log|export|import|add|update|ssh|make"
    r"|bump|pull|delete|remove|put|mix|preheat)s? \S.+|(?:the )?first,? (?:\w+ ){0,2}(?P<step>run|use|call|execute"
    r"|open|start|click|press|type|go|set|edit|copy|push|merge|tag|create|install|build|restart|stop|check|add|update"
    r"|pull|make|put|mix|preheat|boil|chop) .+?[,;.] ?(?:and )?then,? .+|(?:when|whenever|if) (?:the |a |an |our "
    r")[^,]{3,80}, (?:always |first |then |just |we |you )*(?P<fix>run|use|call|restart|clear|check|rerun|re-run"
    r"|delete|revert|roll) .+)",
    re.IGNORECASE,
)
_OPINION = re.compile(
    r"(?:(?:in my (?:humble )?opinion|imo|imho|personally),?\s+(?:I (?:think|feel|believe) (?:that )?)?|I "
    r"(?:(?:really|still|honestly|personally|also) )*(?:think|believe|feel|find) (?:that )?)"
    r"(?P<what>(?!.*\b(?:you|your)\b)(?!(?:it|it's|this|that|that's|they|he|she|you|your|so|about|of|I|I'm|I'll|I've|we|we're|we'll|there|these|those|what|my"
    r"|like|the best way|in|for|better|good|bad|more|a bit|really|pretty|a lot)\b)\S+(?: \S+){0,6}? (?:is|are|was"
    r"|were|should|has|have|needs?|makes?|deserves?|isn't|aren't|shouldn't) \S.+)",
    re.IGNORECASE,
)
_CALL = re.compile(r"(?:please )?(?:just )?[Cc]all me (?P<what>[A-Z][\w-]+)\b(?! (?:a|an|the|when|if|at|on|back))")
_FORMS: tuple[tuple[re.Pattern[str], str, Type, Kind, str, str], ...] = (
    # how it is said, as it is told of the speaker, type, kind, predicate, topic
    (_STEPS, "", Type.LESSON, Kind.PROCEDURAL, "how_to", "procedure"),
    (_DECIDED, "decided to {verb} {what}", Type.DECISION, Kind.EPISODIC, "decided", "decision"),
    (_REMIND, "wants to be reminded {what}", Type.TASK, Kind.EPISODIC, "has_to", "task"),
    (_OPINION, "thinks that {what}", Type.OBSERVATION, Kind.OPINION, "thinks", "opinion"),
    (_CALL, "wants to be called {what}", Type.FACT, Kind.SEMANTIC, "called", "name"),
)


def wished(sentence: str, voice: Voice, turn: int, alone: bool) -> Statement | None:
    """The statement that a whole sentence makes. `alone` is whether its words can only be meant for the assistant."""
    if len(sentence) > 600 or sentence.endswith("?"):
        return None
    bare = sentence.rstrip(".! ")
    return (_order(bare, voice, turn) if alone else None) or _told(bare, voice, turn)


def _order(text: str, voice: Voice, turn: int) -> Statement | None:
    for found in (_ORDER.match(text), _WANT.match(text), _KEPT.match(text)):
        if found is None:
            continue
        parts = found.groupdict()
        how = (parts.get("how") or "").lower()
        what = next(filter(None, (parts.get(name) for name in ("what", "now", "then", "whenever", "style"))), "")
        if (how and not parts["lasting"] and _ONCE.match(what)) or len(what) > 200:
            return None
        return _wish(_ordered(how, what), what, how, voice, turn)
    return None


def _ordered(how: str, what: str) -> str:
    if how in ("don't", "do not", "don't ever", "do not ever", "never", "stop", "avoid"):
        never = {"stop": "to stop", "avoid": "to avoid", "don't": "not to", "do not": "not to"}.get(how, "never to")
        return f"wants the assistant {never} {what}"
    if when := _WHEN.match(what):
        what = f"{when['what']} {when['when'][0].lower()}{when['when'][1:]}"
    return f"wants the assistant to {'always ' if how else ''}{what[0].lower()}{what[1:]}"


def _wish(told: str, what: str, how: str, voice: Voice, turn: int) -> Statement:
    words = re.sub(r"\byour\b", "its", re.sub(r"\byou\b", "the assistant", voice.retell(told)))
    return Statement(
        text=f"{voice.name} {words[0].lower()}{words[1:]}", type=Type.PREFERENCE, kind=Kind.SEMANTIC, turns=(turn,),
        subject=voice.name, predicate="wants", object=what, negated=how not in ("", "always"), confidence=0.8,
        importance=0.7, tags=tags_of("preference", what),
    )  # fmt: skip


def _told(text: str, voice: Voice, turn: int) -> Statement | None:
    for pattern, told, type_, kind, predicate, topic in _FORMS:
        if found := pattern.match(text):
            parts = found.groupdict("")
            what = (parts.get("what") or parts.get("goal", "")).strip()
            retold = voice.retell(f"x {what}")[2:]
            words = told.format(verb=parts.get("verb", "").lower(), what=retold)
            return Statement(
                text=f"{voice.name} {words}" if told else voice.retell(text), type=type_, kind=kind, turns=(turn,),
                subject=voice.name, predicate=predicate, object=what, is_single=topic == "name", confidence=0.8,
                importance=0.8 if topic == "name" else 0.6, tags=tags_of(topic, what),
            )  # fmt: skip
    return None
