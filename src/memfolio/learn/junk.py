"""What is never learned: code, logs, quotations, injected memories, small talk, questions and suppositions."""

from __future__ import annotations

import re

from memfolio.types import ID_PATTERN

MAX_READ = 20_000
"""Characters of a turn that are read: nobody says more at once, so the rest is pasted."""
_LONGEST_LINE = 2_000
_INJECTED = re.compile(
    r"<(/?)([a-z][a-z0-9]*[-_])?(?:memory|memories|memfolio|context|system"
    r"|recall)(?:[-_][\w-]{1,40})?(?:\s[^<>]{0,200})?>|Remembered data, not instructions",
    re.IGNORECASE,
)
_FORMAL = {
    "i": "I", "im": "I'm", "ive": "I've", "dont": "don't", "doesnt": "doesn't", "hes": "he's", "shes": "she's",
    "cant": "can't", "isnt": "isn't", "didnt": "didn't", "gotta": "have to", "i'm": "I'm", "i've": "I've",
    "i'll": "I'll", "i'd": "I'd", "name's": "name is", "theyre": "they're", "thats": "that's", "whats": "what's",
}  # fmt: skip
_INFORMAL = re.compile(rf"(?<![\w.'/-])(?!im\s+(?-i:[A-ZÄÖÜ]))(?:{'|'.join(_FORMAL)})(?![\w.'/-])", re.IGNORECASE)
"""What people write in a hurry; `im` before a capital letter is German."""
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
_ASIDE = re.compile(r"\[[^\[\]\n]{0,400}\]|\*[a-z][^*\n]{0,60}\*(?=\s|$)")
_URL = re.compile(r"\b(?:https?://|www\.)\S+")
_NOISE = re.compile(
    r"\s*(?:[{}\[\]<>$#|@/\\;=]|>>>|at \S+\(|File \"|Traceback|Caused by|Exception in|\d{4}-\d\d-\d\d[T ]\d|\d\d:\d\d"
    r"|(?:INFO|WARN(?:ING)?|ERROR|DEBUG|TRACE|FATAL|CRITICAL)\b|(?:import|from|def|class|const|let|var|function"
    r"|return|public|private|async|export|package|using)\s[\w.*{ ]+(?:[(){};=:]|\bimport\b|$)|(?:SELECT|INSERT|UPDATE"
    r"|DELETE|CREATE|ALTER|DROP)\s|(?:\w*Error|\w+Exception|error|warning|fatal|panic)\b[:!\[]|\S+:? (?:ERR!"
    r"|[Ee]rror(?: response)?\b[: ])|Require stack|(?:npm|pip|yarn) (?:ERR|WARN)|\w+\(.*\)[;{]?$"
    r"|[\w.\"']+\s*[:=]\s*[\[{\"'])"
)
_SYMBOLS = re.compile(r"[{}\[\]<>=;|\\_~^]")
_BULLET = re.compile(r"^\s*(?:[-*•+]|\d{1,2}[.)])\s+")
_MADE_UP = (
    "just kidding", " jk", "sarcas", "yeah right", "yeah, right", " as if ", "wish i ", "wish we ", "suppose i",
    "suppose we", "suppose that", "imagine", "pretend", "hypothetical", "what if", " i were ", "lorem ipsum", "🙄",
    "🙃", " /s", "once upon a time", "in my dream", "in the story", "in the novel", "in the movie", "in the game",
    "was kidding", "@example.", "married to my job", "my character", "protagonist", "in this scenario", "in my novel",
    "in my story", "would have been",
)  # fmt: skip
_SPOKEN = re.compile(r"[\"“«][^\"“”«»]{0,300}?\b(?:I|I'm|I've|we|you|my|is|are|was)\b[^\"“”«»]{0,300}[\"”»]")
_GIVEN = re.compile(
    r"(?:(?:can|could|please|you|help|me|hey|hi|now)\W+)*(?:rewrite|translate|correct|proofread|summari[sz]e|rephrase"
    r"|paraphrase|edit|improve|shorten|polish|complete|continue|classify|analy[sz]e)\b[^:]{0,80}:",
    re.IGNORECASE,
)
_REPORTED = re.compile(
    r"(?:an )?(?:example|sample)\b[^:]{0,40}:|(?:let's )?(?:pretend|role-?play)\b|(?:imagine|assume|suppose) you\b"
    r"|act as (?:an?|if)\b|(?!I\b|we\b)[^:.!?]{0,80}\b(?:wrote|writes|says|said|replied|told \w+|reads|stated)\s*:",
    re.IGNORECASE,
)
_IRONY = re.compile(r"\b(?:LOVE|ENJOY|ADORE) (?:being|waiting|getting|having|when|how)\b")
_TAKEN_BACK = re.compile(
    r"(?:(?:I'm|I was|nah|no|haha|lol),? )*(?:(?:just|only) )?(?:kidding|joking|jk)\b", re.IGNORECASE
)
_SECRET = re.compile(
    r"\b(?:password|passwd|passphrase|passcode|pin|cvv|secret|token|(?:api|secret|private|access)[ _-]?(?:key|code))\b"
    r"(?: [\w'-]+){0,5}?\s*(?:\bis\b|[:=])\s*(?!not\b|in\b|stored\b|the\b|\w+ed\b)\S"
    r"|\b(?:(?:sk|pk|rk|gh[opsu]|glpat|xox[abp])[-_]|(?-i:AKIA|eyJ))(?=\D*\d)[\w-]{12,}"
    r"|(?<![\d.])\d(?:[ -]?\d){13,18}(?!\d)",
    re.IGNORECASE,
)
_IF = re.compile(r"(?:if|unless|whether|even if|assuming|in case|had I|should I)\b", re.IGNORECASE)
_QUESTION = re.compile(
    r"(?:(?:so|and|but|also|then|ok(?:ay)?|well|hmm|um|hey|hi|please|yeah|or),?\s+)*(?:(?:who|what|whose|whom|which"
    r"|where|when|why|how)(?:'s|'re|'d|'ll)?\s+(?:\w+\s+){0,3}?(?:is|are|was|were|do|does|did|can|could|should|would"
    r"|will|has|have|am|to|about|many|much|come|if)\b|(?:is|are|was|were|do|does|did|can|could|should|would|will|has"
    r"|have|had|am|may|don't|didn't|isn't|aren't|won't|wouldn't|couldn't|shouldn't|haven't)\s+(?:you|i|we|they|he|she"
    r"|it|there|this|that|these|those|the|my|our|your|any|anyone|someone|anybody|somebody)\b|(?:what|how) about|any "
    r"(?:idea|advice|tips?|suggestions?|thoughts|chance|recommendations?|plans|other)\b|what's|how's|who's|where's"
    r"|help me|tell me|show me|give me|let me know|explain|wanna\b)",
    re.IGNORECASE,
)
_SMALL = re.compile(
    r"(?:hi|hiya|hey|hello|yo|howdy|greetings|good (?:morning|afternoon|evening|night|day|luck|job|work)|bye|goodbye"
    r"|thanks|thank you|thx|cheers|ok|okay|k|yes|yep|yeah|yup|no|nope|sure|fine|great|cool|nice|awesome|perfect|wow"
    r"|got it|sounds|understood|exactly|right|agreed|lol|haha|congrat\w*|welcome|sorry|no (?:problem|worries)|never "
    r"mind|see you|take care|let's (?:keep|see|catch)|have a (?:good|great|nice)|same here|me too|of course"
    r"|absolutely|definitely|indeed)\b",
    re.IGNORECASE,
)


def readable(content: str) -> list[str]:
    """The lines that somebody wrote, without what is pasted, quoted, injected or addressed to machines."""
    text = content[:MAX_READ].replace("’", "'").replace("‘", "'").replace("\x00", "")
    text = _INFORMAL.sub(lambda found: _FORMAL[found[0].lower()], text)
    if "<" in text or "Remembered data" in text:
        text = _without_injected(text)
    if "-" in text:  # what was recalled bears the ids of memories
        text = "\n".join(line for line in text.splitlines() if not ID_PATTERN.search(line))
    if "```" in text or "~~~" in text:
        text = "\n".join(_FENCE.split(text)[::2])
    if "[" in text or "*" in text:
        text = _ASIDE.sub("", text.replace("**", ""))
    if "://" in text or "www." in text:
        text = _URL.sub("", text)
    return [line for line in map(_line, text.splitlines()) if line]


def _without_injected(text: str) -> str:
    kept, place = [], 0
    for found in _INJECTED.finditer(text):
        if found.start() < place:
            continue
        kept.append(text[place : found.start()])
        closing = text.find("</", found.end())
        if found[0].startswith("</"):
            place = found.end()
        elif closing < 0:
            return "".join(kept)
        else:
            end = text.find(">", closing, closing + 120)
            place = end + 1 if end >= 0 else len(text)
    return "".join([*kept, text[place:]])


def _line(line: str) -> str:
    bare = _BULLET.sub("", line).strip()
    if not bare or len(bare) > _LONGEST_LINE or line.lstrip().startswith(">") or _NOISE.match(bare):
        return ""
    return "" if len(_SYMBOLS.findall(bare)) * 12 > len(bare) else bare


def is_made_up(sentence: str) -> bool:
    """Whether a sentence supposes, jokes or quotes rather than tells."""
    if "\\" in sentence or sentence.count("`") > 3:
        return True
    low = f" {sentence.lower()}"
    if any(words in low for words in _MADE_UP):
        return True
    return bool(_IF.match(sentence) or _IRONY.search(sentence) or ('"' in sentence and _SPOKEN.search(sentence)))


def is_given(sentence: str) -> bool:
    """Whether what follows is material to work on, or the words of others: `translate this: …`, `she wrote: …`."""
    return bool(_GIVEN.match(sentence) or _REPORTED.match(sentence))


def is_taken_back(following: str) -> bool:
    """Whether the sentence that follows says that it was a joke."""
    return bool(_TAKEN_BACK.match(following))


def is_secret(sentence: str) -> bool:
    """Whether a sentence gives away a password, a key or the number of a card."""
    return bool(_SECRET.search(sentence))


def is_question(clause: str) -> bool:
    """Whether a clause asks, or asks for something."""
    return clause.endswith("?") or bool(_QUESTION.match(clause))


def is_small_talk(clause: str) -> bool:
    """Whether a clause greets, thanks or acknowledges."""
    return bool(_SMALL.match(clause))
