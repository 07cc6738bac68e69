"""What whole sentences say: how things are to be done, what was decided, how something is done, what to remind of."""

from __future__ import annotations

import re

from memfolio.learn.learned import Statement
from memfolio.learn.tags import tags_of
from memfolio.learn.voice import Voice
from memfolio.types import Kind, Type

_LASTING = r"(?:from now on|in (?:the )?future|going forward|by default|as a rule|in general|whenever possible)"
_ORDER = re.compile(
    rf"(?:please,?\s+)?(?:(?P<lasting>{_LASTING}),?\s+)?(?:please,?\s+)?(?P<how>always|never|don't ever|do not ever"
    rf"|don't|do not"
    r"|stop|avoid)\s+(?P<what>\w.+)",
    re.IGNORECASE,
)
_KEPT = re.compile(
    rf"(?:please,?\s+)?(?:{_LASTING},?\s+(?:please,?\s+)?(?P<now>\w.+)|(?P<whenever>(?:when|whenever) I (?:ask|say"
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
