"""The command `ontology`: terms are listed, added, proposed, checked, drawn, exported, asked and imported."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from memfolio.errors import ProposedError
from memfolio.knowledge.ontology.document import new_term
from memfolio.memory import Memory
from memfolio.types import Attribution
from tests.serve.calls import Run, RunJson

AGENT = Attribution(actor="bot:trigger-ontology", trigger="ontology")
PAGE = "agents/main/knowledge/ontology/shop.jsonld"
GIFT = ("ontology", "add", "shop:Gift", "--parent", "Product", "--definition", "Product that is given away.")


@pytest.fixture
def shop(cli: Run) -> Run:
    cli("init")
    cli("ontology", "add", "shop:Product", "--definition", "What is sold.", "--synonym", "goods")
    price = ("shop:price", "--domain-class", "Product", "--range", "money", "--functional")
    cli("ontology", "add", *price, "--definition", "What it costs.")
    return cli


ANSWERS = [
    ("list", "shop  1        1           0      shop"),
    ("list shop", "shop:price    datatype_property  What it costs."),
    ("show goods", "definition    What is sold."),
    ("tree", "   · price → money (one)"),
    ("mermaid shop", "    shop_Product : price money"),
    ("validate", "All is well."),
    ("conform", "0 facts, 0 findings."),
    ("export", "shop:Product a owl:Class ;"),
    ("sparql ASK{shop:Product?p?o}", "yes"),
    ("sparql SELECT?c{?c,a,owl:Class}", "shop:Product"),
    ("proposals", "No pending terms."),
    ("scaffold acme saas --dry-run", "31 terms and 1 rule would be added. Nothing was changed."),
    ("scaffold business business --dry-run", "301 terms and 8 rules would be added. Nothing was changed."),
]


def test_each_command_answers(shop: Run, cli_json: RunJson) -> None:
    for command, says in ANSWERS:
        words = [word.replace(",", " ") for word in command.split()]
        assert says in [line.rstrip() for line in shop("ontology", *words).splitlines()]
        assert cli_json("ontology", *words)


MISTAKES = [
    ("list nope", 3, "there is no domain 'nope'"),
    ("tree nope", 3, "there is no domain 'nope'"),
    ("show Prodct", 3, "did you mean shop:Product?"),
    ("add shop:gift --definition x", 2, "not in PascalCase"),
    ("add shop:Gift", 2, "it has no definition"),
    ("add Gift --definition x", 2, "write it as domain:Gift, such as business:Gift"),
    ("add shop:x --definition x --range text --domain-class Prodct", 2, "does not exist; near is shop:Product"),
    ("add shop:Gift --kind thing", 2, "'thing' is no kind of term"),
    (
        "propose-concept shop class shop:Gift why --sbvr-definition x --parent-class Nope",
        2,
        "its parent Nope does not exist",
    ),
    ("scaffold acme nope", 2, "there is no template 'nope'"),
    ("scaffold nope nope", 2, "there is no template 'nope'"),
    ("scaffold A saas", 2, "'A' is no name of a domain"),
    ("export --format csv", 2, "'csv' is no format"),
    ("sparql SELECT", 2, "the query cannot be answered: error at 1:7: expected one of"),
    ("sparql ASK{?x<a:b>/nope:a?y}", 2, "Prefix not found"),
    ("sparql ASK{} --limit 0", 2, "--limit"),
    ("import nowhere.ttl shop", 2, "nowhere.ttl cannot be read"),
]


def test_each_mistake_is_told_and_changes_nothing(shop: Run, home: Path) -> None:
    before = {path: path.read_bytes() for path in home.glob("agents/main/knowledge/**/*.*")}
    for command, status, says in MISTAKES:
        assert says in shop("ontology", *command.split(), status=status)
    assert {path: path.read_bytes() for path in home.glob("agents/main/knowledge/**/*.*")} == before


def test_added_term_is_shown_as_a_difference_and_undone(shop: Run, cli_json: RunJson, home: Path) -> None:
    before = (home / PAGE).read_bytes()
    assert "would be added" in shop(*GIFT, "--dry-run")
    assert (home / PAGE).read_bytes() == before
    seq = cli_json(*GIFT)["seq"]
    assert cli_json("ontology", "show", "gift")["parents"] == ["shop:Product"]
    shop("undo", seq, "--yes")
    assert (home / PAGE).read_bytes() == before


def test_document_of_others_is_imported(shop: Run, cli_json: RunJson, type_in: Callable[[bytes], None]) -> None:
    type_in(json.dumps({"@context": "https://schema.org/"}).encode())
    assert "would have to be fetched" in shop("ontology", "import", "-", "web", status=2)
    node = {"@id": "http://x.org/web_page", "@type": "http://www.w3.org/2002/07/owl#Class"}
    type_in(json.dumps(node | {"http://www.w3.org/2000/01/rdf-schema#comment": "Page."}).encode())
    assert cli_json("ontology", "import", "-", "web")["terms"] == ["web:WebPage"]


def test_labels_are_enough_to_be_imported_and_people_see_what_is_missing(
    shop: Run, cli_json: RunJson, tmp_path: Path, type_in: Callable[[bytes], None]
) -> None:
    turtle = b"""<http://x.org/A> a <http://www.w3.org/2002/07/owl#Class> . <http://x.org/B> a <http://x.org/A> .
<http://x.org/4711> a <http://www.w3.org/2002/07/owl#Class> ."""
    for name in ("ttl", "turtle"):
        type_in(turtle)
        said = shop("ontology", "import", "-", "web", "--format", name, "--dry-run")
        assert "no definition: web:A\n" in said
        assert "no label: web:A\n" in said
        assert "note: web:4711 was left out" in said
    (tmp_path / "terms.ttl").write_bytes(turtle)
    document = cli_json("ontology", "import", str(tmp_path / "terms.ttl"), "web")
    assert (document["terms"], document["lacking"]) == (["web:A"], {"label": ["web:A"], "definition": ["web:A"]})
    exported = shop("ontology", "export", "--format", "jsonld")
    assert shop("ontology", "export", "--format", "json-ld") == exported


def test_facts_and_terms_that_do_not_fit_end_with_one(shop: Run, cli_json: RunJson, home: Path) -> None:
    shop("fact", "assert", "tea", "price", "much")
    found = cli_json("ontology", "conform", status=1)
    assert [each["message"] for each in found["findings"]] == ["'much' is text, not money"]
    (home / PAGE).write_text("{", encoding="utf-8")
    assert "is no JSON" in str(cli_json("ontology", "validate", status=1)["findings"])


def test_proposed_term_is_added_as_it_was_shown_or_not_at_all(shop: Run, cli_json: RunJson, home: Path) -> None:
    propose = ("ontology", "propose-concept", "shop", "class")
    told = ("--parent-class", "Product", "--sbvr-definition", "Product that is given away.")
    proposed = cli_json(*propose, "shop:Produkt", "we give", *told)["result"]
    assert proposed["note"] == ""
    other = cli_json(*propose, "shop:Prodact", "why not", "--sbvr-definition", "Typo.")["result"]
    assert other["note"] == "may be shop:Product: it is written alike"
    shown = shop("proposals", proposed["id"])
    for line in ("# Add a term: shop:Produkt", "Product that is given away.", "- **Rationale**: we give"):
        assert line in shown
    [page] = home.glob(f"agents/main/memory/meta/proposals/{proposed['id']}.md")
    page.write_text(page.read_text("utf-8").replace("given away", "sold dearly"), encoding="utf-8")
    shop("approve", proposed["id"], "--hash", proposed["shown"], status=4)
    listed = {each["id"]: each["shown"] for each in cli_json("ontology", "proposals")["proposals"]}
    assert listed.keys() == {proposed["id"], other["id"]}
    shop("approve", proposed["id"], "--hash", listed[proposed["id"]])
    shop("reject", other["id"])
    assert cli_json("ontology", "show", "shop:Produkt")["definition"] == "Product that is sold dearly."
    assert cli_json("ontology", "proposals")["proposals"] == []
    assert "there is no term" in shop("ontology", "show", "shop:Prodact", status=3)


def test_agent_that_proposes_leaves_the_decision_to_another(shop: Run, home: Path) -> None:
    folder = home / "agents/researcher"
    folder.mkdir()
    (folder / "agent.toml").write_text('policy = "proposes"\n', encoding="utf-8")
    gift = new_term("class", "shop:Gift", definition="What is given away.")
    with Memory.open(home, "researcher", background=False) as memory:
        with pytest.raises(ProposedError) as caught:
            memory.ontology.add(gift, by=AGENT)
        assert memory.ontology.domains() == []
    with Memory.open(home, background=False) as memory:
        [waiting] = memory.proposals.pending(all=True)
        assert (waiting.id, waiting.intent.named, waiting.proposer) == (
            caught.value.proposal,
            "shop:Gift",
            "researcher",
        )
        memory.proposals.commit(waiting.id, shown=waiting.shown, by=Attribution(actor="human", trigger="cli"))
        assert memory.ontology.get("Gift").definition == "What is given away."
        assert memory.ontology.domains()[0].path == PAGE
