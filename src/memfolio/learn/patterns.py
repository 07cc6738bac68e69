"""What is worth keeping of what somebody does: a verb, how it goes on, and what that says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from memfolio.types import Type

PEOPLE, ANYBODY, OURS, THINGS, ALL = "sp", "spw", "w", "t", "spwt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
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


def _pattern(starts: str, predicate: str, who: str, type_: str, tenses: str, weight: float, topic: str) -> Pattern:
    return Pattern(
        starts=tuple(starts.split("|")),
        predicate=predicate.removeprefix("!"),
        who=who,
        type=_TYPES[type_],
        is_single=predicate.startswith("!"),
        importance=weight,
        tenses=tenses,
        topic=topic,
    )


def _by_verb() -> Mapping[str, tuple[Pattern, ...]]:
    table: dict[str, tuple[Pattern, ...]] = {}
    for verbs, starts, predicate, who, type_, tenses, weight, topic in _TABLE:
        pattern = _pattern(starts, predicate, who, type_, tenses, weight, topic)
        for verb in verbs.split():
            table[verb] = (*table.get(verb, ()), pattern)
    return table


VERBS = _by_verb()
BEING = tuple(_pattern(*row[:4], "np", *row[4:]) for row in _BEING)


def matched(pattern: Pattern, tail: str) -> str | None:
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
) -> Pattern:
    """A pattern for what was matched already."""
    return Pattern(
        starts=("",), predicate=predicate, importance=importance, is_single=single, type=type, topic=topic or "fact"
    )
