"""How memories fade."""

from __future__ import annotations

import math
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.decay import DAY, DecayInput, Phase, days_until, phase, relevance
from memfolio.index.maintenance import decay_values, relevance_sql
from memfolio.index.schema import schema
from memfolio.settings import FORMS, Decay

NOW = 1_000 * DAY
TOLD = DecayInput("semantic", "memory", "long_term", None, NOW, None, 0, None, 0, 0)


def aged(days: float, life: DecayInput = TOLD) -> float:
    return relevance(life, NOW + int(days * DAY), Decay())


def test_each_kind_has_its_half_life() -> None:
    for kind, rate in (("episodic", 0.0375), ("semantic", 0.025), ("procedural", 0.03), ("opinion", 0.03)):
        assert aged(math.log(2) / rate, TOLD._replace(kind=kind)) == pytest.approx(0.5)


def test_what_is_overheard_or_concluded_begins_lower() -> None:
    assert [aged(0, each) for each in (TOLD, TOLD._replace(role="user"), TOLD._replace(derived=1))] == [
        1.0,
        0.7,
        0.5,
    ]


def test_use_keeps_awake_and_counts_from_the_last_time() -> None:
    used = TOLD._replace(accessed_at=NOW + 20 * DAY, access_count=3)
    assert aged(30, used) == pytest.approx(math.exp(-0.025 * 10) * 1.2)
    assert aged(20, used) == 1.0


@pytest.mark.parametrize("kept", [{"pinned": 1}, {"store": "vault"}, {"form": "passage"}, {"decay_rate": 0.0}])
def test_some_things_never_fade(kept: dict[str, Any]) -> None:
    assert aged(10_000, TOLD._replace(**kept)) == 1.0


@pytest.mark.parametrize(
    ("rate", "expected"), [(-100.0, 1.0), (math.inf, aged(30)), (-math.inf, aged(30)), (1e308, 0.0)]
)
def test_odd_rate_gives_a_relevance_all_the_same(rate: float, expected: float) -> None:
    assert aged(30, TOLD._replace(decay_rate=rate)) == expected
    assert aged(30, TOLD._replace(decay_rate=math.nan)) == aged(30)


def test_phases_begin_where_they_should() -> None:
    assert [phase(each, Decay()) for each in (1.0, 0.5, 0.49, 0.2, 0.19, 0.05, 0.04)] == [
        *(Phase.ACTIVE, Phase.ACTIVE, Phase.FADING, Phase.FADING, Phase.DORMANT, Phase.DORMANT, Phase.ARCHIVED)
    ]


@given(st.floats(-100, 100_000), st.floats(0, 1000), st.integers(0, 2**31))
def test_relevance_lies_between_0_and_1_and_only_falls(days: float, more: float, uses: int) -> None:
    life = TOLD._replace(access_count=uses)
    assert 0 <= aged(days + more, life) <= aged(days, life) <= 1


def test_forgetting_curve_of_ebbinghaus_falls_ever_slower() -> None:
    curve = Decay(form="ebbinghaus")
    left = [relevance(TOLD, NOW + days * DAY, curve) for days in (0, 1, 100)]
    assert left == pytest.approx([1.0, math.exp(-0.025), math.exp(-0.025 * 100**0.8)])
    assert left[2] > aged(100)


@pytest.mark.parametrize("form", FORMS)
@given(st.floats(0, 5000), st.integers(0, 100), st.sampled_from([None, "user"]), st.floats(0.001, 1))
def test_days_until_a_phase_end_where_it_begins(
    form: str, days: float, uses: int, role: str | None, least: float
) -> None:
    decay, life = Decay(form=form), TOLD._replace(access_count=uses, role=role)
    now = NOW + int(days * DAY)
    left = days_until(life, now, least, decay)
    assert left is not None
    assert relevance(life, now + int((left + 0.01) * DAY) + 1, decay) < least
    if left > 0.01:
        assert relevance(life, now + int((left - 0.01) * DAY), decay) >= least


@pytest.mark.parametrize("kept", [{"pinned": 1}, {"store": "vault"}, {"decay_rate": 0.0}])
def test_what_never_fades_has_no_end(kept: dict[str, Any]) -> None:
    assert days_until(TOLD._replace(**kept), NOW, 0.2, Decay()) is None


def test_what_has_fallen_has_no_days_left() -> None:
    assert days_until(TOLD, NOW + 1000 * DAY, 0.2, Decay()) == 0


LIVES = st.builds(
    DecayInput,
    st.sampled_from(["episodic", "semantic", "procedural", "opinion"]),
    st.sampled_from(["memory", "passage"]),
    st.sampled_from(["working", "long_term", "vault"]),
    st.sampled_from([None, "user"]),
    st.integers(0, 2000).map(lambda day: day * DAY + 12_345),
    st.none() | st.integers(0, 2000 * DAY),
    st.integers(0, 2**31),
    st.none() | st.floats(allow_nan=True, allow_infinity=True) | st.just(0.0),
    st.integers(0, 1),
    st.integers(0, 1),
)


@pytest.fixture(scope="module")
def tables() -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    connection.execute(schema())
    return connection


def put(connection: apsw.Connection, life: DecayInput) -> None:
    connection.execute("DELETE FROM memories")
    fixed = {"id": "M-1-00000000", "file": 1, "ordinal": 0, "type": "fact", "importance": 0.5, "confidence": 1}
    more = '{"derived_from":["M-0-00000000"]}' if life.derived else '{"tags":["a"]}'
    values = {**fixed, "happened_at": 0, "source": "s", "origin": "agent", "content": "text", "more": more}
    values |= {name: value for name, value in life._asdict().items() if name != "derived"}
    names = ", ".join(values)
    connection.execute(f"INSERT INTO memories ({names}) VALUES ({', '.join('?' * len(values))})", list(values.values()))


@pytest.mark.parametrize("form", FORMS)
@given(LIVES)
def test_index_computes_the_same_relevance(tables: apsw.Connection, form: str, life: DecayInput) -> None:
    decay = Decay(form=form, explicit=0.9)
    put(tables, life)
    sql = f"SELECT {relevance_sql(decay)} FROM memories m"
    found = tables.execute(sql, {**decay_values(decay), "now": NOW}).get
    assert found == pytest.approx(relevance(life, NOW, decay), abs=1e-9)
