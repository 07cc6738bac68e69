"""The rules of an agent: lines of a ledger that are made, switched, kept and given away, and never half."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from pathlib import Path
from threading import Barrier

import pytest

from memfolio import Memory
from memfolio.clock import SettableClock
from memfolio.errors import InputError, MemfolioError, NotFoundError, ProposedError, RuleError
from memfolio.knowledge.rule import RuleType, render
from memfolio.knowledge.rules import Rules
from memfolio.vault.vault import OWNER

TAXABLE = "taxable: ?x hasRevenue ?y and ?y > 50000 and not ?x isExempt true => ?x isTaxable true [domain tax]"
MANAGED = "managed: ?x isA Employee and not ?x hasManager ?m => ERROR: ?x has no manager"
NOTIFY = "?x hasDebt ?d and ?d > $1m => DO notify-cfo about ?x [escalate]"
LEDGER = "agents/main/knowledge/rules/0001.jsonl"


@pytest.fixture
def rules(memory: Memory) -> Rules:
    return Rules(memory.vault, memory.searcher, "main")


def write_lines(home: Path, *lines: object) -> None:
    path = home / LEDGER
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)
    path.write_text(text, encoding="utf-8")


def test_rule_is_the_same_for_whoever_opens_the_home_again(rules: Rules, home: Path, clock: SettableClock) -> None:
    made = rules.create(TAXABLE, description="Who pays", factor=0.5, by=OWNER)
    assert (made.name, made.domain, made.description, made.factor) == ("taxable", "tax", "Who pays", 0.5)
    assert (made.id[:2], made.created_at) == ("R-", clock.now().replace(microsecond=123000))
    with Memory.open(home, background=False) as other:
        assert Rules(other.vault, other.searcher, "main").list() == [made]


def test_rules_are_found_by_id_and_by_name_in_any_case(rules: Rules) -> None:
    made, unnamed = rules.create(TAXABLE, by=OWNER), rules.create(NOTIFY, by=OWNER)
    assert rules.get(made.id) == rules.get("Taxable") == made
    assert rules.get(unnamed.id) == unnamed
    for name in ("", "nobody"):
        with pytest.raises(NotFoundError):
            rules.get(name)


def test_list_holds_only_what_is_asked_for(rules: Rules) -> None:
    tax, managed, notify = (rules.create(each, by=OWNER) for each in (TAXABLE, MANAGED, NOTIFY))
    off = rules.toggle("managed", by=OWNER)
    assert rules.list() == [tax, off, notify]
    assert rules.list(type="policy") == [notify]
    assert rules.list(RuleType.CONSTRAINT, enabled=False) == [off]
    assert rules.list(domain="tax", enabled=True) == [tax]
    assert managed.enabled
    with pytest.raises(InputError):
        rules.list(type="guess")


def test_switching_keeping_and_deleting_are_lines_that_can_be_undone(memory: Memory, rules: Rules) -> None:
    made = rules.create(TAXABLE, by=OWNER)
    assert not rules.toggle(made.id, by=OWNER).enabled
    assert not rules.toggle("taxable", False, by=OWNER).enabled
    assert rules.toggle("taxable", by=OWNER).enabled
    assert [each.kept for each in rules.keep([made.id, "taxable"], by=OWNER)] == [True]
    assert rules.keep(["taxable"], by=OWNER) == [rules.get("taxable")]
    assert not rules.keep([made.id], False, by=OWNER)[0].kept
    rules.delete("taxable", by=OWNER)
    assert rules.list() == []
    memory.vault.past.undo(memory.vault.head, by=OWNER)
    assert rules.get("taxable").conditions == made.conditions
    lines = (memory.vault.content(LEDGER) or b"").decode().splitlines()
    assert [json.loads(each)["op"] for each in lines] == ["create", "toggle", "toggle", "keep", "keep"]


def test_dry_run_changes_nothing(memory: Memory, rules: Rules) -> None:
    made = rules.create(TAXABLE, by=OWNER)
    head = memory.vault.head
    assert rules.create(MANAGED, dry_run=True).name == "managed"
    assert not rules.toggle(made.id, dry_run=True).enabled
    assert rules.delete(made.id, dry_run=True) == made
    assert len(rules.import_(f"{MANAGED}\n{NOTIFY}", dry_run=True)) == 2
    assert (memory.vault.head, rules.list()) == (head, [made])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("TAXABLE: ?x a b => ?x c d", "has the name 'TAXABLE'"),
        (TAXABLE.replace("taxable:", "other:"), "says the same"),
        ("not ?c isExempt true, ?c hasRevenue ?m, ?m > 50000 => ?c isTaxable true", "says the same"),
        ("?x isTaxable true => ?x isExempt true", "depends on its own absence"),
        ("?x a b => ?x c ?z", "concludes with ?z"),
        ('?x "has revenue" b => ?x c d', "the predicate 'has revenue'"),
    ],
)
def test_rule_that_does_not_fit_is_refused_and_nothing_changes(rules: Rules, text: str, reason: str) -> None:
    made = rules.create(TAXABLE, by=OWNER)
    with pytest.raises(RuleError) as caught:
        rules.create(text, by=OWNER)
    assert reason in caught.value.message
    assert (made.id in caught.value.message) == (reason.startswith(("has the name", "says the same")))
    assert rules.list() == [made]


def test_rule_that_is_off_may_contradict_until_it_is_switched_on(rules: Rules) -> None:
    rules.create(TAXABLE, by=OWNER)
    made = rules.create("?x isTaxable true => ?x isExempt true [off]", by=OWNER)
    with pytest.raises(RuleError, match="its own absence"):
        rules.toggle(made.id, by=OWNER)
    assert not rules.get(made.id).enabled


def test_only_inference_rules_are_kept(rules: Rules) -> None:
    made, managed = rules.create(TAXABLE, by=OWNER), rules.create(MANAGED, by=OWNER)
    with pytest.raises(RuleError, match="concludes nothing"):
        rules.keep([made.id, managed.id], by=OWNER)
    assert not rules.get(made.id).kept


@pytest.mark.parametrize("form", ["text", "json", "lines", "document"])
def test_what_is_exported_can_be_imported_elsewhere(rules: Rules, home: Path, form: str) -> None:
    for each in (TAXABLE, MANAGED, NOTIFY, '"# a" is "{b" => "error" x "and" [off, about "two\\nlines"]'):
        rules.create(each, by=OWNER)
    rules.keep(["taxable"], by=OWNER)
    objects = json.loads(rules.export("json"))
    lines = "".join(f"{json.dumps(each)}\n" for each in objects)
    forms = {"text": rules.export(), "json": rules.export("json"), "lines": lines}
    text = forms.get(form) or json.dumps({"rules": objects}, indent=1)
    with Memory.open(home, "other", background=False) as memory:
        there = Rules(memory.vault, memory.searcher, "other")
        taken = there.import_(f"\ufeff# rules\n\n{text}" if form == "text" else text, by=OWNER)
        assert list(map(render, taken)) == list(map(render, rules.list()))
        assert not any(each.kept for each in there.list())
        assert there.export() == rules.export()


@pytest.mark.parametrize(
    ("text", "places"),
    [
        (f"{MANAGED}\n\nx: ?x a\n# note\n{MANAGED}\n?x a b => ?x c ?z", ["line 3: ", "line 5: line 1 ", "line 6: "]),
        (json.dumps([{"text": MANAGED}, {"text": "?x"}, 5, None]), ["rule 2: ", "rule 3: ", "rule 4: "]),
        ('{"text": "?x a b => ?x c d"}\n{"text": 1', ["line 2: "]),
        ("?x p ?y and not ?x q ?y => ?x r ?y\n?x r ?y => ?x q ?y", ["its own absence"]),
        ("[" * 100_000, ["no JSON"]),
        ("{" * 100_000, ["line 1: "]),
        ('{"rules": 5}', ["line 1: "]),
    ],
)
def test_import_takes_all_rules_or_none_and_tells_every_problem(rules: Rules, text: str, places: list[str]) -> None:
    with pytest.raises(RuleError) as caught:
        rules.import_(text, by=OWNER)
    assert all(place in caught.value.message for place in places)
    assert rules.list() == []


def test_hand_written_lines_count_and_broken_ones_are_told(rules: Rules, memory: Memory, home: Path) -> None:
    write_lines(
        home,
        {"text": MANAGED},
        {"id": "R-7", "text": TAXABLE, "colour": "red"},
        "{broken",
        {"op": "paint", "rule": "R-7"},
        {"op": "toggle", "rule": "R-8"},
        {"op": "toggle", "rule": "R-7", "enabled": "no"},
        {"text": "?x a b => ?x c ?z"},
        {"id": "R-7", "text": NOTIFY},
        {"id": "", "text": NOTIFY},
        {"op": "toggle", "rule": "R-7", "enabled": False},
    )
    memory.vault.survey()
    managed, taxable = rules.list()
    assert (managed.name, managed.id[:2], taxable.id, taxable.enabled) == ("managed", "R-", "R-7", False)
    assert render(taxable).startswith("taxable:")
    told = "\n".join(rules.problems())
    words = ("0001.jsonl, line 3: ", "'paint'", "'R-8'", "enabled", "?z", "'R-7' is taken", "'' is none")
    assert all(word in told for word in words), told
    write_lines(home)
    memory.vault.survey()
    assert (rules.list(), rules.problems()) == ([], [])


def test_rules_that_contradict_by_hand_are_told_until_one_is_switched_off(
    rules: Rules, memory: Memory, home: Path
) -> None:
    write_lines(home, {"text": "one: ?x p ?y and not ?x q ?y => ?x r ?y"}, {"text": "?x r ?y => ?x q ?y"})
    memory.vault.survey()
    assert "its own absence" in rules.problems()[0]
    rules.toggle("one", by=OWNER)
    assert rules.problems() == []


def test_undoing_a_rule_that_was_switched_since_leaves_no_rule_and_says_so(memory: Memory, rules: Rules) -> None:
    rules.create(TAXABLE, by=OWNER)
    made = memory.vault.head
    rules.toggle("taxable", by=OWNER)
    memory.vault.past.undo(made, by=OWNER)
    assert rules.list() == []
    assert "to toggle" in rules.problems()[0]
    assert rules.create(TAXABLE, by=OWNER).enabled


def test_rules_that_differ_only_in_what_is_no_variable_are_two(rules: Rules) -> None:
    texts = ['"a ?x" p ?y => ?y q b', '"a ?z" p ?y => ?y q b', "?x p ?y => ?x q ?y", "?x p ?y => ?y q ?x"]
    assert len([rules.create(each, by=OWNER) for each in texts]) == 4


def test_rule_that_makes_no_sense_without_its_secret_is_not_written(rules: Rules, memory: Memory) -> None:
    secret = "?sk_live_4eC39HqLyjWDarjtT1zdp7dc"
    with pytest.raises(RuleError, match="redacted"):
        rules.create(f"{secret} a b => {secret} c d", by=OWNER)
    assert memory.vault.content(LEDGER) is None


def test_of_several_who_make_the_same_rule_at_once_one_does(rules: Rules, home: Path) -> None:
    both, texts = Barrier(2), [f"n{number}: ?x p{number} ?y => ?x q{number} ?y" for number in range(8)]

    def create_all(rules: Rules) -> list[str]:
        return [create_with(rules, text) for text in texts]

    def create_with(rules: Rules, text: str) -> str:
        both.wait(20)
        try:
            return rules.create(text, by=OWNER).name
        except RuleError as error:
            return error.message

    with Memory.open(home, background=False) as other, ThreadPoolExecutor(2) as pool:
        told = pool.map(create_all, [rules, other.rules])
        for mine, theirs in zip(*told, strict=True):
            assert ("has the name" in mine) != ("has the name" in theirs)
    assert list(map(render, rules.list())) == texts


def test_business_rules_go_round_unchanged_in_both_forms(rules: Rules, home: Path) -> None:
    page = json.loads(resources.files("memfolio.knowledge.ontology").joinpath("data/business.jsonld").read_bytes())
    text = "".join(f"{each['mf:rule']}\n" for each in page["@graph"] if "mf:rule" in each)
    assert len(rules.import_(text, by=OWNER)) == 8
    assert rules.export() == text
    assert rules.import_(text, by=OWNER) == []
    with Memory.open(home, "other", background=False) as memory:
        there = Rules(memory.vault, memory.searcher, "other")
        there.import_(rules.export("json"), by=OWNER)
        assert (there.export(), there.export("json")) == (text, rules.export("json"))


def test_rule_that_an_agent_proposes_is_made_when_it_is_approved(home: Path, memory: Memory) -> None:
    (home / "agents/coder").mkdir(parents=True)
    (home / "agents/coder/agent.toml").write_text('policy = "proposes"\n', encoding="utf-8")
    with Memory.open(home, "coder", background=False) as coder:
        with pytest.raises(ProposedError) as caught:
            coder.rules.create({"text": MANAGED}, description="Nobody is alone")
        assert coder.rules.list() == []
        page = memory.vault.content(f"agents/main/memory/meta/proposals/{caught.value.proposal}.md") or b""
        assert page.decode().startswith(f"# Make a rule: {MANAGED}\n")
        assert "- **Description**: Nobody is alone\n" in page.decode()
        proposal = memory.proposals.get(caught.value.proposal)
        memory.proposals.commit(proposal.id, shown=proposal.shown, by=OWNER)
    assert [render(each) for each in memory.rules.list()] == [f'{MANAGED} [about "Nobody is alone"]']


def test_rules_are_understood_once_and_not_at_every_question(rules: Rules, memory: Memory) -> None:
    made = rules.create(TAXABLE, by=OWNER)
    memory.remember("Something else")
    assert rules.get(made.id) is rules.get(made.id)


def test_rules_of_one_agent_are_not_those_of_another(rules: Rules, home: Path) -> None:
    rules.create(TAXABLE, by=OWNER)
    with Memory.open(home, "other", background=False) as memory:
        assert Rules(memory.vault, memory.searcher, "other").list() == []


@pytest.mark.parametrize("call", [lambda rules: rules.create(5), lambda rules: rules.export("xml")])
def test_what_is_no_rule_is_refused(rules: Rules, call: Callable[[Rules], object]) -> None:
    with pytest.raises(MemfolioError):
        call(rules)
    assert rules.list() == []
