"""What is asked for in any script, and what programmers write, is found first among what looks like it: by words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from memfolio import Memory

FILLER = (
    "The weather was fine on Sunday",
    "Lunch with Robin at noon",
    "今天天气很好",
    "Сегодня хорошая погода",
    "الطقس جميل اليوم",
)


@pytest.fixture(autouse=True)
def no_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMFOLIO_EMBEDDING_PROVIDER", "none")


def found(home: Path, memories: Sequence[str], question: str) -> list[str]:
    with Memory.open(home, background=False) as memory:
        for text in (*memories, *FILLER):
            memory.remember(text)
        hits = memory.recall(question)
        assert "vector" not in {reason.strategy for hit in hits for reason in hit.why}
        return [hit.memory.content for hit in hits]


LANGUAGES = [
    # Russian: cases of nouns, forms of verbs, capitals, ё
    ("Мы выбрали базу данных PostgreSQL", ["Мы выбрали ресторан", "Данных о погоде нет"], "какая база данных"),
    ("Алексей пьёт зелёный чай", ["Алексей купил зелёные шторы", "Борис пьет кофе"], "кто пьет зеленого чая"),
    ("Встреча с клиентом в среду", ["Встреча друзей в парке", "Среда обитания рыб"], "когда встречи с клиентами?"),
    ("СЕРВЕР УПАЛ НОЧЬЮ", ["Ночью шёл дождь", "Лист упал с дерева"], "что случилось с серверами"),
    ("Рыба в морозилке", ["Рубашка в шкафу", "Лёд в морозилке"], "где лежит рыбу"),
    ("Книга лежит на столе", ["Кника", "Ручка лежит в столе"], "где моя книгу"),
    (
        "Деплой запланирован на пятницу",
        ["Отпуск запланирован на июль", "Пятница была дождливой"],
        "план деплоя в пятницу",
    ),
    ("Вирішили використати базу PostgreSQL", ["Вирішили відпочити", "Використати пароль"], "яку базу використали"),
    # Chinese, Japanese, Korean: no spaces, other endings
    ("我们决定使用 PostgreSQL 数据库", ["我们决定去北京", "数据分析报告"], "用什么数据库？"),
    ("小明喜欢喝绿茶", ["小明喜欢跑步", "绿色的茶杯"], "谁喜欢喝绿茶"),
    ("明日の会議は東京タワーで行います", ["明日は京都へ行く", "東の都"], "東京タワーの会議はいつ"),
    ("アレックスは緑茶が好きです", ["アレックスはコーヒーが嫌い", "緑の靴"], "緑茶が好きな人は誰"),
    ("한국어를 매일 공부한다", ["영어를 매일 공부한다", "한국 음식"], "한국어는 언제 공부해요?"),
    ("서버는 금요일에 배포한다", ["서버가 느리다", "금요일에 영화를 본다"], "서버 배포 금요일"),
    # Arabic: the article, the vowel signs, the forms of alef
    ("قرأ أحمد الكتاب الجديد", ["قرأ أحمد الرسالة", "السيارة الجديدة"], "كتاب جديد"),
    ("الاجتماع يوم الأحد", ["اجتماعي جدا", "يوم الاثنين"], "متى اجتماع الاحد"),
    ("كَتَبَ الطَّالِبُ الدَّرْسَ", ["ذهب الطالب", "درس الرياضيات"], "الطالب كتب الدرس"),
    # Others, and several at once
    ("שלום עולם מירושלים", ["שלום לך", "עולם אחר"], "שלום עולם"),
    ("สวัสดีชาวโลกจากกรุงเทพ", ["สวัสดีครับ", "โลกสีน้ำเงิน"], "ชาวโลก"),
    ("Die Straße nach Łódź ist gesperrt", ["Die Straße ist lang", "Lodz"], "strasse nach Lodz"),
    (
        "東京 office 的 Wi-Fi パスワード は tanuki",
        ["東京 office の住所", "Wi-Fi router"],
        "東京 office Wi-Fi パスワード",
    ),
    ("Деплой через GitHub Actions в пятницу", ["GitHub Actions платный", "Деплой вручную"], "деплой GitHub Actions"),
]


@pytest.mark.parametrize(("wanted", "others", "question"), LANGUAGES)
def test_memory_is_found_first_in_its_language(home: Path, wanted: str, others: list[str], question: str) -> None:
    assert found(home, [*others, wanted, *others], question)[0] == wanted


CODE = [
    ("foo_bar", "call foo_bar before start", ["foo and then the bar", "bar comes before foo to start"]),
    ("is_valid", "is_valid decides about the token", ["a valid token for the bus", "valid until Monday"]),
    ("fooBar", "fooBar is called at start", ["a bar called foo", "the foo at the bar"]),
    ("getUserName", "get_user_name returns the login", ["the user has a name", "get the login of a user"]),
    ("HTTPServer", "HTTPServer listens on 8080", ["the server listens", "http is a protocol"]),
    ("C++", "the engine is written in C++", ["the engine is written in C", "the engine is written in C#"]),
    ("C", "the engine is written in C", ["the engine is written in C++", "the engine is written in C#"]),
    ("C#", "the engine is written in C#", ["the engine is written in C++", "the engine is written in C"]),
    ("g++", "compile it with g++", ["compile it with g", "compile it with gcc"]),
    ("--flag", "start it with --flag", ["start it with a flag", "the flag of Wales, start to end"]),
    ("--dry-run", "use --dry-run first", ["a dry run first", "run it in a dry place first"]),
    ("-v", "pass -v to see more", ["pass v to see more", "volume v, to see more"]),
    ("node.js", "the service runs on node.js", ["the js of the node", "a node in the tree runs js"]),
    ("foo.bar()", "foo.bar() raises", ["bar raises foo", "foo raises the bar"]),
    ("std::vector", "std::vector grows by two", ["a vector has an std", "std of the vector"]),
    ("/etc/hosts", "the name is in /etc/hosts", ["hosts of the party, etc", "the name of the hosts"]),
    ("/help", "type /help for a list", ["help for a list", "type a list to help"]),
    (".env", "secrets are in .env", ["secrets of the env", "env has secrets in it"]),
    ("v1.2.3", "released v1.2.3 today", ["released v1.3.2 today", "released v1 to 2 or 3 people"]),
    ("E1234", "the build failed with E1234", ["the build failed with E1235", "the build failed 1234 times"]),
    ("#42", "fixed in #42 by Kim", ["fixed 42 things by Kim", "Kim is 42"]),
    ("@kim", "ask @kim about it", ["ask Kim about it", "kim asks about it"]),
    ("$HOME", "it is below $HOME", ["it is at home", "below the home"]),
    ("kim@example.com", "write to kim@example.com", ["an example by Kim on the com port", "kim wrote an example"]),
    (
        "https://docs.example.com/setup/first-steps",
        "read https://docs.example.com/setup/first-steps",
        ["read the docs, for example the first steps of the setup", "https://docs.example.com/other"],
    ),
    ("user_id=7", "user_id=7 is blocked", ["the user has id 8", "7 users are blocked"]),
    ("192.168.0.1", "the router is 192.168.0.1", ["the router is 192.168.1.0", "0 or 1 router, 168 or 192 users"]),
]


@pytest.mark.parametrize(("asked", "wanted", "others"), CODE)
@pytest.mark.parametrize("question", ["{}", "what do we know about {}?"])
def test_what_programmers_write_is_found_first(
    home: Path, asked: str, wanted: str, others: list[str], question: str
) -> None:
    assert found(home, [*others, wanted, *others], question.format(asked))[0] == wanted


def test_plain_word_finds_the_flag_and_the_issue_too(home: Path) -> None:
    memories = ["start it with --verbose", "fixed in #4711"]
    assert set(found(home, memories, "verbose 4711")[:2]) == set(memories)
