"""Text as search sees it: how long it is, how it is indexed, and which words of a question are looked for.

All of that agrees with SQLite's FTS5 and its tokenizer `porter unicode61 remove_diacritics 2`. Beside it, the texts and
tables that come with the package.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

from memfolio.errors import ContentError, InputError

MAX_TERM = 64
MAX_QUERY = 8_192
"""Characters of a question that are read; of a longer one the two ends, where people say what they want."""
MAX_WORDS = 200
"""Words that a description may have."""

# Spaces do not end words in these scripts: Thai, Lao, Burmese, Khmer; then Han, kana, bopomofo and hangul.
_LONG_WORDS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\uaa60-\uaa7f"
_UNSPACED = (
    _LONG_WORDS + "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3040-\u318f\u31a0-\u31bf"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\ua48f\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U0001b000-\U0001b16f"
    "\U00020000-\U0003ffff"
)
_LONG_WORD_CHARACTER = re.compile(f"[{_LONG_WORDS}]")
_CHARACTER = r"[^\x00-/:-@\[-`{-\x7f\s]"
_WORDS = re.compile(
    rf"((?<=')(?i:s|t|ll|ve|re|m|d)(?!{_CHARACTER})|(?:[A-Za-z]|[Qq]u)(?='{_CHARACTER}))|({_CHARACTER}+)"
)
"""As its second group a word, or as its first one the small part of `Alex's` or `l'eau`."""

_LETTERS = dict(
    zip("ßẞæÆœŒøØłŁđĐı’ʼёЁأإآىة", "ss SS ae AE oe OE o O l L d D i ' ' е Е ا ا ا ي ه".split(), strict=True),
    **dict.fromkeys(
        "\u00ad\u2060\ufeff\u0640\u064b\u064c\u064d\u064e\u064f\u0650\u0651\u0652\u0653\u0654\u0655\u0670", ""
    ),
)
"""What Unicode does not decompose but people type without: `Strasse` finds `Straße`, `Lodz` finds `Łódź`."""

# What the tokenizer drops but programmers mean. A private character of Unicode, which it takes for a letter, stands for
# each sign: `--flag` is indexed as `flag` and, behind the text, once more with its dashes.
_SIGNS = str.maketrans({sign: chr(0xE000 + ord(sign)) for sign in "+#-_@$/."})
_PLAIN = {ord(mark): sign for sign, mark in _SIGNS.items()}
# They begin with what is rare and look back from there, since every text that is indexed is searched for them.
_BARE = rf"(?!{_CHARACTER})"
_SIGNED = re.compile(
    rf"[-#@$./](?<![-+#.@$/_~:*<][-#@$./])(?<!{_CHARACTER}[-#@$./])"
    rf"(?:(?<=[-./])(?=[A-Za-z])|(?<=[#@$])|(?<=-)-(?=[A-Za-z]))[A-Za-z0-9][A-Za-z0-9_-]*{_BARE}"
)
_PLUS = re.compile(
    rf"[+#](?<=[A-Za-z][+#])(?<!{_CHARACTER}[A-Za-z][+#])(?<![-+#.@$/_][A-Za-z][+#])[+#]?(?![+#_]){_BARE}"
)
"""The signs of `C++`, `C#` and `g++`, which are not indexed without them: a single letter tells too little."""
# What goes on in another alphabet is passed over whole, so that nothing is read twice: no second group says so.
_PART = "[A-Za-z0-9]++(?:-[A-Za-z0-9]++)*+"
_COMPOUND = re.compile(rf"(?<!{_CHARACTER}){_PART}((?:[._/:@\\]++{_PART})*+)({_BARE})?")
_CAMEL = re.compile(rf"(?<!{_CHARACTER})(?=[A-Za-z0-9]*?[a-z][A-Z])[A-Za-z0-9]++{_BARE}")
# What most texts have nowhere, and is found sooner.
_JOINT, _HUMPED = re.compile(r"[A-Za-z0-9][._/:@\\]+[A-Za-z0-9]"), re.compile(r"[a-z][A-Z]")
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_JOINABLE = re.compile(r"[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)+")
"""What others write in one, as `fooBar`."""

_CYRILLIC = re.compile("[а-яіїєґў]{4,}", re.IGNORECASE)
_ENDING = re.compile(
    "(?<=...)(?:иями|ться|ями|ами|иях|ого|его|ому|ему|ыми|ими|ешь|ишь|ете|ите|ают|яют|ал[аои]|ил[аои]|ть|ов|ев|ей|ой|ый|ий"
    "|ая|яя|ое|ее|ие|ые|ую|юю|ия|ию|ам|ям|ах|ях|ом|ем|им|ым|их|ых|ал|ил|ла|ло|ли|ет|ит|ют|ут|ат|ят|[аяоеуюыийьл])$"
)
"""What Russian words end in, roughly: `базу` is looked for as whatever begins with `баз`."""
_ARABIC = re.compile("[\u0621-\u064a]{3,}")
_ARTICLE = re.compile("(?:[وفبك]?ال|لل)(?=...)")
_ARTICLES = ("", "ال", "وال", "بال", "لل")

_SENTENCE_END = re.compile(r"(?<=[.!?…;])[\"')]*\s+|(?<=[。！？])|\n+")
_ABBREVIATION = re.compile(r"\b(?:Dr|Mr|Mrs|Ms|Prof|St|Inc|Ltd|Co|vs|etc|e\.g|i\.e|approx|No|[A-Z])\.$")


def packaged_text(path: str) -> str:
    """A text that comes with the package, by its path in it."""
    return (Path(__file__).parent / path).read_text("utf-8")


def packaged_table(path: str) -> dict[str, Any]:
    """A file of TOML that comes with the package."""
    return tomllib.loads(packaged_text(path))


FUNCTION_WORDS = frozenset(
    word for words in packaged_table("data/function_words.toml").values() for word in words.split()
)
"""Words of questions that tell nothing, in several languages."""


def estimate_tokens(text: str) -> int:
    """About how many tokens a language model would count; models differ, and count more in code.

    Four ASCII characters are a token, so are two letters of other alphabets below U+0800 (accented Latin, Greek,
    Cyrillic, Hebrew, Arabic); every other character is one, such as Han, kana and hangul; an emoji is one and a half.
    """
    if text.isascii():
        return (len(text) + 3) // 4
    ascii_count = len(text.encode("ascii", "ignore"))
    rest = len(text) - ascii_count
    # UTF-8 has two bytes for the alphabets, three for most of the others, four for emoji.
    wide = len(text.encode("utf-8", "surrogatepass")) - ascii_count - 2 * rest
    return (ascii_count + 2 * rest + 2 * wide + 3) // 4


def counted(number: int, one: str, several: str = "") -> str:
    """`1 file`, `2 files`."""
    return f"{number:,} {one if number == 1 else several or f'{one}s'}"


def shown(value: object) -> str:
    """A value for an error message; Python itself refuses to print numbers of thousands of digits."""
    try:
        return str(value)[:40]
    except ValueError:
        return "of so many digits"


def printable(text: str) -> str:
    """A text on one line, without characters that cannot be printed."""
    return " ".join("".join(each if each.isprintable() else " " for each in text).split())


def single_line(text: str) -> str:
    """A text with one blank wherever it has blanks and line breaks."""
    return " ".join(text.split())


def joined(words: Iterable[object]) -> str:
    """Words as people say them: 3, 5 and 7."""
    *first, last = [str(word) for word in words] or [""]
    return f"{', '.join(first)} and {last}" if first else last


def clip(text: str, length: int) -> str:
    """A text of at most so many characters; one that is cut ends with a sign for that."""
    return text if len(text) <= length else f"{text[: length - 1].rstrip()}…"


def sentences(text: str) -> list[str]:
    """The sentences of a text, without the blanks and closing quotes between them; a line break ends one, too."""
    found, begun = list[str](), ""
    for part in _SENTENCE_END.split(text):
        begun = f"{begun} {part}".strip()
        if begun and not _ABBREVIATION.search(begun[-8:]):
            found.append(begun)
            begun = ""
    return [*found, begun] if begun else found


def sentence_pattern(signs: str = "", behind: str = "") -> re.Pattern[str]:
    """A pattern of sentences in their places: whatever stands in a line up to its first stop, and what is `behind`.

    Further `signs` may close a sentence, beside quotes and brackets. Each character is read once, so that no text takes
    long.
    """
    stops = rf"[.!?…]++[\"')\]”’»{signs}]*+"
    return re.compile(rf"[^\n](?:[^\n.!?…。！？]++|{stops}(?!\s))*(?:{stops}|[。！？]++|(?=\n)|\Z){behind}")


def searchable(text: str) -> str:
    """`text` as it goes into FTS5: compatible forms unified, symbols and characters of unspaced scripts set apart.

    Behind it stand the words with signs once more.
    """
    text = _folded(text)
    signed = _SIGNED.findall(text)
    return " ".join([_spaced(text), *map(_marked, signed)]) if signed else _spaced(text)


def terms(query: str, *, limit: int = 32, weak: bool = True) -> list[str]:
    """What to search for when asked `query`, in its order, each once: at most `limit` of at most 64 characters.

    Function words are left out unless there is nothing else, and without `weak` even then. A run of Han, kana or hangul
    becomes its pairs of characters, each a phrase with a space in between (`東 京`); one of Thai, Lao, Burmese or Khmer
    its triples.
    Words with signs, such as `--flag`, `C++`, `foo_bar` and `fooBar`, are looked for as such besides their parts.
    Other symbols and emoji are not searched for.
    """
    query = _bounded(query)
    shouted = query.isupper()
    text = _folded(query)
    strong: dict[str, str] = {}
    function_words: dict[str, str] = {}
    for term, is_clitic in _pieces(_with_pluses(text)):
        if not term.isascii():  # a translation takes longer than everything else here
            term = term.translate(_PLAIN)
        folded = term.casefold()
        is_stop = is_clitic or (folded in FUNCTION_WORDS and _is_function_word(term, shouted=shouted))
        (function_words if is_stop else strong).setdefault(folded, term)
    strong |= {term.casefold(): term for term in _identifiers(text) if len(term) <= MAX_TERM}
    return _most_informative(list((strong or (function_words if weak else {})).values()), limit)


def match_expression(words: Sequence[str], *, all_of: bool = False) -> str:
    """The FTS5 expression that finds any of `words`, or all; a word that has several tokens is a phrase.

    Of `fooBar` and `foo Bar`, which are one word, either will do. The expression is always valid, whatever the words
    are; without a word that can be found it matches nothing.
    """
    ways: dict[str, list[str]] = {}
    for word in filter(_can_be_found, words):
        ways.setdefault(word.replace(" ", "").casefold() if all_of else "", []).append(_quoted(word))
    found = [" OR ".join(each) for each in ways.values()]
    return (found[0] if len(found) == 1 else " AND ".join(f"({each})" for each in found)) or '""'


def every_word(description: str) -> str:
    """The FTS5 expression for what has every word of a description as it stands, and nothing that is only alike.

    Function words are left out unless there is nothing else. What is written without a space is a phrase, and a sign
    belongs to its word. InputError where there are too many words.
    """
    text = _folded(description)
    chunks = _with_pluses(text).split()
    if len(chunks) > MAX_WORDS or len(description) > MAX_QUERY:
        raise InputError(f"the description {description[:40]!r}… is too long", hint="describe it in fewer words")
    shouted = description.isupper()
    strong: list[str] = []
    weak: list[str] = []
    for words in (words for chunk in chunks for words in _side_by_side(chunk)):
        is_weak = all(_is_function_word(word, shouted=shouted) for word in words)
        (weak if is_weak else strong).append(_spaced(" ".join(words)))
    strong += map(_marked, _SIGNED.findall(text))
    return " AND ".join(f'"{phrase}"' for phrase in dict.fromkeys(strong or weak)) or '""'


def _spaced(text: str) -> str:
    text = _with_pluses(text)
    return text if text.isascii() else _unspaced_runs().sub(lambda run: f" {'  '.join(run[0])} ", text)


def _with_pluses(text: str) -> str:
    return _PLUS.sub(lambda match: _marked(match[0]), text)


def _marked(word: str) -> str:
    return word.translate(_SIGNS)


def _humps(word: str) -> str:
    return " ".join(_HUMP.findall(word))


def _identifiers(text: str) -> Iterator[str]:
    """What programmers write in one: words with signs, and as phrases `foo.bar`, `foo_bar` and `foo Bar`."""
    yield from _SIGNED.findall(text)
    if _JOINT.search(text):
        yield from (match[0] for match in _COMPOUND.finditer(_with_pluses(text)) if match[1] and match[2] is not None)
    if _HUMPED.search(text):
        yield from map(_humps, _CAMEL.findall(text))


def _folded(text: str) -> str:
    """`text` with NULs and lone surrogates made harmless, symbols set apart and compatible forms unified."""
    text = text.replace("\0", " ")
    if text.isascii():
        return text
    changes = {ord(old): new for old in set(text) if old > "\x7f" and (new := _fold_character(old)) != old}
    return unicodedata.normalize("NFKC", text.translate(changes) if changes else text)


@lru_cache(maxsize=4096)
def _fold_character(character: str) -> str:
    plain = unicodedata.normalize("NFKC", character)
    if any(each in _LETTERS for each in plain):
        return "".join(_LETTERS.get(each, each) for each in plain)
    category = unicodedata.category(character)
    if category in ("Cc", "Cf", "Cs") or ord(character) in _PLAIN:
        return " "
    # unicode61 knows Unicode 6.1: it takes younger symbols for letters, and would glue them to the word before them.
    # Set apart ahead of NFKC, `Foo™` is found by `Foo`.
    return f" {character} " if category[0] in "PS" or category == "No" else character


def _bounded(query: str) -> str:
    if len(query) <= MAX_QUERY:
        return query
    return f"{query[: MAX_QUERY // 2]} {query[-MAX_QUERY // 2 :]}"


@cache
def _unspaced_runs() -> re.Pattern[str]:
    """Compiled when a text first needs it: it takes as long as everything else here together."""
    return re.compile(f"([{_UNSPACED}]+)")


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """The terms in `text` and whether each is only the small part of a word, as in `Alex's`."""
    return _words(text) if text.isascii() else _pieces_of_scripts(text)


def _pieces_of_scripts(text: str) -> Iterator[tuple[str, bool]]:
    for number, piece in enumerate(_unspaced_runs().split(text)):
        yield from ((gram, False) for gram in _grams(piece)) if number % 2 else _words(piece)


def _words(text: str) -> Iterator[tuple[str, bool]]:
    for part, word in dict.fromkeys(_WORDS.findall(text)):
        if part or word.isalnum() or _can_be_found(word):
            yield part or word[:MAX_TERM], bool(part)


def _side_by_side(chunk: str) -> Iterator[list[str]]:
    """The words of what is written without a space; between them go small parts as in `Alex's`, but not of `don't`."""
    for matters, found in groupby(_WORDS.finditer(chunk), lambda match: match[1] is None or match[0] in "tT"):
        words = [match[0] for match in found]
        if matters and any(map(_can_be_found, words)):
            yield words


def _is_function_word(word: str, *, shouted: bool) -> bool:
    """In capitals it is a name, such as `IT` and `WHO`, unless everything is."""
    return word.casefold() in FUNCTION_WORDS and (shouted or len(word) == 1 or not word.isupper())


def _grams(run: str) -> Iterable[str]:
    """Overlapping phrases of `run`: nobody writes a whole question the way it stands in the answer."""
    letters = [character for character in run if character.isalnum()]
    width = 3 if _LONG_WORD_CHARACTER.match(run) else 2
    count = max(1, len(letters) - width + 1) if letters else 0
    return (" ".join(letters[at : at + width]) for at in range(count))


def _most_informative(found: list[str], limit: int) -> list[str]:
    if len(found) <= max(limit, 0):
        return found
    best = sorted(range(len(found)), key=lambda at: -_weight(found[at]))[: max(limit, 0)]
    return [found[at] for at in sorted(best)]


def _weight(term: str) -> int:
    """How much a term is likely to tell: names, numbers and long words more; pairs of hiragana are mostly grammar."""
    if not term.isascii() and _unspaced_runs().match(term):
        return 9 - 3 * sum("\u3040" <= character <= "\u309f" for character in term)
    is_name = term != term.lower() or not term.isalpha()
    return len(term) + 6 * is_name


def _can_be_found(word: str) -> bool:
    return word.isalnum() or any(map(str.isalnum, word))


def _quoted(word: str) -> str:
    """`word` as a phrase; what `terms` cut short stands for everything that begins so."""
    folded = _folded(word)
    inside = _marked(folded) if _SIGNED.fullmatch(folded) else _spaced(folded).replace('"', '""')
    if others := list(_others(inside)):
        return f'("{inside}" OR {" OR ".join(others)})'
    return f'"{inside}"*' if len(word) == MAX_TERM and word.isalnum() else f'"{inside}"'


def _others(word: str) -> Iterator[str]:
    """What else may stand for a word: joined parts, and whatever begins alike where the index knows no grammar."""
    if _JOINABLE.fullmatch(word):
        yield f'"{re.sub("[_-]", "", word)}"'
    elif _CYRILLIC.fullmatch(word):
        yield f'"{_ENDING.sub("", word.lower())}"*'
    elif _ARABIC.fullmatch(word):
        stem = _ARTICLE.sub("", word, count=1)
        yield from (f'"{article}{stem}"*' for article in _ARTICLES)


def name_key(name: str) -> str:
    """A name as it is looked up: without regard to case, blanks and ways to write the same letters."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def encoded(text: str) -> bytes:
    """`text` in UTF-8; raises ContentError for lone surrogates, which no file can hold."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ContentError(
            f"character {error.start} is half of a surrogate pair and cannot be stored as UTF-8",
            hint="decode the text properly, or replace such characters before remembering it",
        ) from error
