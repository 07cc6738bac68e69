"""Bayes against published answers."""

from __future__ import annotations

import itertools
import re
from functools import partial
from typing import Any

import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from memfolio.errors import InputError
from memfolio.reason.methods.probabilistic import bayesian as reason
from tests.reason.asking import SHORT, ask

# Russell and Norvig, Artificial Intelligence (2010), figure 14.2
ALARM = {
    "Burglary": {"table": 0.001},
    "Earthquake": {"table": 0.002},
    "Alarm": {
        "parents": ["Burglary", "Earthquake"],
        "table": {"true, true": 0.95, "true, false": 0.94, "false, true": 0.29, "false, false": 0.001},
    },
    "John": {"parents": ["Alarm"], "table": {"true": 0.9, "false": 0.05}},
    "Mary": {"parents": ["Alarm"], "table": {"true": 0.7, "false": 0.01}},
}
# Lauritzen and Spiegelhalter, Journal of the Royal Statistical Society B 50 (1988), table 1
ASIA = {
    "asia": {"table": 0.01},
    "tub": {"parents": ["asia"], "table": {"true": 0.05, "false": 0.01}},
    "smoke": {"table": 0.5},
    "lung": {"parents": ["smoke"], "table": {"true": 0.1, "false": 0.01}},
    "bronc": {"parents": ["smoke"], "table": {"true": 0.6, "false": 0.3}},
    "either": {
        "parents": ["lung", "tub"],
        "table": {"true, true": 1, "true, false": 1, "false, true": 1, "false, false": 0},
    },
    "xray": {"parents": ["either"], "table": {"true": 0.98, "false": 0.05}},
    "dysp": {
        "parents": ["either", "bronc"],
        "table": {"true, true": 0.9, "true, false": 0.7, "false, true": 0.8, "false, false": 0.1},
    },
}
# Murphy, A brief introduction to graphical models (1998); Russell and Norvig, figure 14.12
SPRINKLER = {
    "cloudy": {"table": 0.5},
    "sprinkler": {"parents": ["cloudy"], "table": {"true": 0.1, "false": 0.5}},
    "rain": {"parents": ["cloudy"], "table": {"true": 0.8, "false": 0.2}},
    "wet": {
        "parents": ["sprinkler", "rain"],
        "table": {"true, true": 0.99, "true, false": 0.9, "false, true": 0.9, "false, false": 0},
    },
}


said = partial(ask, reason)
EVEN = {"true": 0.5, "false": 0.5}


@pytest.mark.parametrize(
    ("nodes", "query", "observed", "published", "digits"),
    [
        (ALARM, "Burglary", {"John": True, "Mary": True}, 0.284, 3),  # p. 524
        (ASIA, "tub", {}, 0.0104, 4),
        (ASIA, "either", {}, 0.0648, 4),
        (ASIA, "dysp", {}, 0.4360, 4),
        (ASIA, "bronc", {"asia": True, "dysp": True}, 0.8114, 4),  # Højsgaard 2012 (gRain)
        (ASIA, "lung", {"asia": True, "dysp": True}, 0.0995, 4),
        (SPRINKLER, "sprinkler", {"wet": True}, 0.4298, 4),  # Murphy 1998: 0.2781 / 0.6471
        (SPRINKLER, "rain", {"wet": True}, 0.7079, 4),  # 0.4581 / 0.6471
        (SPRINKLER, "sprinkler", {"wet": True, "rain": True}, 0.1945, 4),  # explaining away
    ],
)
def test_networks_answer_as_published(
    nodes: dict[str, Any], query: str, observed: dict[str, bool], published: float, digits: int
) -> None:
    assert said(nodes=nodes, query=query, observed=observed).answer["posterior"]["true"] == pytest.approx(
        published, abs=10**-digits
    )


def test_mammography_gives_eight_percent_and_says_at_which_base_rate_it_turns_over() -> None:
    # Eddy 1982, in Judgment under Uncertainty, p. 253: 1 %, 79.2 %, 9.6 % give 7.7 %
    result = said(
        prior={"cancer": 0.01, "none": 0.99}, likelihoods={"cancer": {"positive": 0.792}, "none": {"positive": 0.096}}
    )
    assert result.answer["posterior"]["cancer"] == pytest.approx(0.077, abs=0.001)
    turn = 0.096 / (0.096 + 0.792)
    assert f"prior of cancer rises above {turn:.4g}" in result.would_change[0]


def test_monty_hall_makes_it_two_to_one_to_switch() -> None:
    # Selvin 1975, The American Statistician 29, p. 67
    result = said(
        prior={"a": 1 / 3, "b": 1 / 3, "c": 1 / 3},
        likelihoods={"a": {"opens c": 0.5}, "b": {"opens c": 1}, "c": {"opens c": 0}},
    )
    assert result.answer["posterior"] == pytest.approx({"a": 1 / 3, "b": 2 / 3, "c": 0})


def test_taxi_witness_is_believed_less_than_half() -> None:
    # Tversky and Kahneman 1982, in Judgment under Uncertainty, pp. 156-157: 15 % blue, 80 % reliable give 0.41
    likelihoods = {"blue": {"said blue": 0.8}, "green": {"said blue": 0.2}}
    result = said(prior={"blue": 0.15, "green": 0.85}, likelihoods=likelihoods)
    assert result.answer["posterior"]["blue"] == pytest.approx(0.41, abs=0.01)
    twice = said(prior={"blue": 0.15, "green": 0.85}, likelihoods=likelihoods, evidence=["said blue", "not said blue"])
    assert twice.answer["posterior"]["blue"] == pytest.approx(0.15)


def test_many_weak_pieces_of_evidence_do_not_vanish() -> None:
    unlikely = {"a": {"x": 1e-200, "y": 1e-200, "z": 0.5}, "b": {"x": 1, "y": 1, "z": 0}}
    assert said(prior={"a": 0.5, "b": 0.5}, likelihoods=unlikely).answer["posterior"] == {"a": 1, "b": 0}


chance = st.floats(0.01, 0.99)


@st.composite
def networks(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, str]]:
    """Up to five nodes of two or three states with any parents before them, and some of them observed."""
    nodes: dict[str, Any] = {}
    for name in "abcde"[: draw(st.integers(2, 5))]:
        parents = draw(st.permutations(list(nodes)))[: draw(st.integers(0, 2))]
        states = list("xyz")[: draw(st.integers(2, 3))]
        rows = {}
        for key in itertools.product(*(nodes[parent]["states"] for parent in parents)):
            weights = draw(st.lists(st.integers(1, 9), min_size=len(states), max_size=len(states)))
            rows[", ".join(key)] = {s: w / sum(weights) for s, w in zip(states, weights, strict=True)}
        nodes[name] = {"states": states, "parents": parents, "table": rows if parents else rows[""]}
    seen = draw(st.sets(st.sampled_from(list(nodes)[1:])))
    return nodes, {name: draw(st.sampled_from(nodes[name]["states"])) for name in seen}


def enumerated(nodes: dict[str, Any], observed: dict[str, str]) -> dict[str, float]:
    """The chances of each state of the first node together with what was observed, case by case."""
    found = dict.fromkeys(nodes["a"]["states"], 0.0)
    for case in itertools.product(*(node["states"] for node in nodes.values())):
        state, weight = dict(zip(nodes, case, strict=True)), 1.0
        for name, node in nodes.items():
            row = (
                node["table"][", ".join(state[each] for each in node["parents"])] if node["parents"] else node["table"]
            )
            weight *= row[state[name]]
        if observed.items() <= state.items():
            found[state["a"]] += weight
    return found


@settings(max_examples=30, deadline=None)
@drawn(networks())
def test_elimination_agrees_with_adding_up_every_case(drawn_network: tuple[dict[str, Any], dict[str, str]]) -> None:
    nodes, observed = drawn_network
    joint = enumerated(nodes, observed)
    result = said(nodes=nodes, query="a", observed=observed)
    total = sum(joint.values())
    assert result.answer["posterior"] == pytest.approx({state: each / total for state, each in joint.items()})


LINE = re.compile(r"(\S+) leads once the prior of (\S+)( \S+)? (rises above|falls below) (\S+) \(it is")


@settings(max_examples=30, deadline=None)
@drawn(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=2, max_size=4))
def test_prior_past_the_named_value_changes_the_leader(numbers: list[tuple[int, int]]) -> None:
    total = sum(weight for weight, _ in numbers)
    prior = {name: weight / total for name, (weight, _) in zip("abcd", numbers, strict=False)}
    likelihoods = {name: {"seen": likely / 9} for name, (_, likely) in zip("abcd", numbers, strict=False)}
    result = said(prior=prior, likelihoods=likelihoods)
    assert result.would_change
    for leader, name, _, way, at in LINE.findall("\n".join(result.would_change)):
        for side in (-1, 1):
            share = float(at) + side * 0.002
            moved = {each: p * (1 - share) / (1 - prior[name]) for each, p in prior.items()} | {name: share}
            best = said(prior=moved, likelihoods=likelihoods).answer["best"]
            assert (leader in best) == (side == (1 if way == "rises above" else -1))


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"prior": {"a": 0.5, "b": 0.6}, "likelihoods": {}}, "prior add up to 1.1"),
        ({"prior": {"a": 1}, "likelihoods": {"a": {"x": 1.5}}}, "likelihoods.a.x"),
        ({"prior": {"a": 0.5, "b": 0.5}, "likelihoods": {"a": {"x": 1}}}, "likelihoods.b is missing"),
        ({"prior": {"a": 1}, "likelihoods": {"a": {"x": 0}}}, "no hypothesis allows"),
        ({"prior": {"a": 0.5, "b": 0.5}, "likelihoods": {"a": {"x": 1}, "b": {"x": 1, "y": 1}}}, "a.y is missing"),
        ({"prior": {"a": float("nan"), "b": 1}, "likelihoods": {}}, "prior.a is nan"),
        (
            {"nodes": {"a": {"table": 1}, "b": {"parents": ["a"], "table": {"true": 1, "false": 0}}}, "query": "a"}
            | {"observed": {"b": False}},
            "cannot happen",
        ),
        (
            {
                "nodes": {"p": {"states": ["a", "a, b"], "table": 0.5}, "q": {"states": ["b, c", "c"], "table": 0.5}}
                | {"r": {"parents": ["p", "q"], "table": {}}},
                "query": "r",
            },
            "says nothing of",
        ),
        (
            {"nodes": {"a": {"parents": ["b"], "table": EVEN}, "b": {"parents": ["a"], "table": EVEN}}, "query": "a"},
            "circle",
        ),
        ({"nodes": {"a": {"states": ["x", "y", "z"], "table": {"x": 0.5, "y": 0.5, "z": 0.1}}}, "query": "a"}, "1.1"),
        ({"nodes": {"a": {"parents": ["q"], "table": 1}}, "query": "a"}, "nodes.a.parents"),
        ({"nodes": SPRINKLER, "query": "wet", "observed": {"rain": "maybe"}}, "observed.rain"),
        ({"nodes": SPRINKLER, "query": "rain", "observed": {"wet": True, "sun": True}}, "sun"),
    ],
)
def test_what_makes_no_sense_is_named(given: dict[str, Any], place: str) -> None:
    with pytest.raises(InputError, match=place):
        said(**given)


def test_entangled_network_is_refused_in_time() -> None:
    nodes: dict[str, Any] = {f"r{i}": {"table": 0.5} for i in range(12)}
    for i, pair in enumerate(itertools.combinations(range(12), 2)):
        rows = {f"{a}, {b}": 0.5 for a in ("true", "false") for b in ("true", "false")}
        nodes[f"c{i}"] = {"parents": [f"r{pair[0]}", f"r{pair[1]}"], "table": rows}
    observed = {name: True for name in nodes if name.startswith("c")}
    with pytest.raises(InputError, match="more than 1,000 cases"):
        said(SHORT, nodes=nodes, query="r0", observed=observed)
    assert said(nodes=nodes, query="r0", observed=observed).confidence == pytest.approx(0.5, abs=0.001)
