"""The words and patterns that are kept as data: every name that the code asks for is there, and nothing else is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import memfolio
from memfolio.learn.words import Lexicon

PACKAGE = Path(memfolio.__file__).parent
FOLDERS = sorted(path.parent for path in PACKAGE.rglob("data/patterns.toml"))
SOURCES = "\n".join(path.read_text("utf-8") for name in ("*.py", "data/rules.toml") for path in PACKAGE.rglob(name))
BY_TYPE = ("before_", "after_")
"""How the names of patterns begin that are asked for by the type of an entity."""


def test_every_name_that_is_asked_for_exists() -> None:
    lexicons = [Lexicon(folder) for folder in FOLDERS]
    words = {name for each in lexicons for name in each.table("words")}
    patterns = {name for each in lexicons for name in each.table("patterns")}
    asked = set(re.findall(r'(?<![.\w])pattern\("(\w+)"\)', SOURCES))
    assert asked
    assert asked <= patterns
    assert set(re.findall(r'(?<![.\w])words\("(\w+)"\)', SOURCES)) <= words


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.parent.name)
def test_every_list_and_pattern_can_be_read_and_is_used(folder: Path) -> None:
    lexicon = Lexicon(folder)
    words, patterns = lexicon.table("words"), lexicon.table("patterns")
    assert all(map(lexicon.listed, words))
    assert all(map(lexicon.pattern, patterns))
    included = re.findall(r"\{([a-z_]+)\}", "".join(map(str, (*words.values(), *patterns.values()))))
    used = {*re.findall(r'"([a-z_]+)"', SOURCES), *included}
    assert not {name for name in (*words, *patterns) if not name.startswith(BY_TYPE)} - used


def test_lists_include_others_and_patterns_any_of_their_words(tmp_path: Path) -> None:
    (tmp_path / "words.toml").write_text(
        'pets = "cat dog"\nanimals = "{pets} cow"\nplaces = "New York,\\nRome"\n[short]\nim = "I am"\n'
    )
    (tmp_path / "patterns.toml").write_text("mine = '''\nmy\n|our'''\nowned = '(?i)(?:{mine}) (?:{animals}|{short})'\n")
    lexicon = Lexicon(tmp_path)
    assert lexicon.listed("animals") == ("cat", "dog", "cow")
    assert lexicon.words("places") == {"New York", "Rome"}
    assert [bool(lexicon.pattern("owned").fullmatch(text)) for text in ("OUR cow", "my im", "my Rome")] == [1, 1, 0]
