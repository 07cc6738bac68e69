"""The table of who may do what."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memfolio.config import load_config
from memfolio.errors import ConfigError
from memfolio.govern.gate import strictest
from memfolio.policy import PRESETS, Deed, Policy, PolicyRow, Role, Verdict, read_row
from memfolio.types import Origin

ROWS = st.builds(
    PolicyRow,
    st.one_of(st.none(), st.sampled_from(Deed)),
    st.one_of(st.none(), st.sampled_from(Role)),
    st.one_of(st.none(), st.sampled_from(Origin)),
    st.sampled_from(Verdict),
)


@given(ROWS)
def test_row_is_read_as_it_is_written(row: PolicyRow) -> None:
    assert read_row(str(row)) == row


@pytest.mark.parametrize("preset", PRESETS)
@given(st.sampled_from(Deed), st.sampled_from(Role), st.one_of(st.none(), st.sampled_from(Origin)))
def test_every_preset_decides_everything(preset: str, deed: Deed, role: Role, origin: Origin | None) -> None:
    assert Policy.of(preset).decide(deed, role, origin).verdict in Verdict


@pytest.mark.parametrize("preset", PRESETS)
def test_nobody_but_the_owner_writes_the_vault_or_acknowledges(preset: str) -> None:
    policy = Policy.of(preset)
    for deed in (Deed.VAULT, Deed.ACKNOWLEDGE, Deed.CRITICAL):
        assert policy.decide(deed, Role.OWNER).verdict is Verdict.APPLY
        others = [role for role in Role if role is not Role.OWNER]
        assert all(policy.decide(deed, role).verdict is not Verdict.APPLY for role in others)


DECIDED = [
    ("balanced", Deed.REMEMBER, Role.AGENT, Origin.AGENT, "apply"),
    ("balanced", Deed.REMEMBER, Role.AGENT, Origin.UNTRUSTED, "propose"),
    ("balanced", Deed.REMEMBER, Role.SUBAGENT, Origin.AGENT, "propose"),
    ("balanced", Deed.OBSERVE, Role.AGENT, Origin.UNTRUSTED, "apply"),
    ("balanced", Deed.CONFIRM, Role.AGENT, Origin.UNTRUSTED, "propose"),
    ("balanced", Deed.REWRITE, Role.AGENT, None, "propose"),
    ("balanced", Deed.CORE, Role.AGENT, None, "apply"),
    ("balanced", Deed.CORE, Role.SYSTEM, None, "propose"),
    ("balanced", Deed.ARCHIVE, Role.SYSTEM, None, "apply"),
    ("balanced", Deed.ARCHIVE, Role.AGENT, None, "propose"),
    ("balanced", Deed.MERGE, Role.AGENT, None, "propose"),
    ("balanced", Deed.REFLECT, Role.SYSTEM, None, "propose"),
    ("balanced", Deed.REVIEW, Role.AGENT, None, "apply"),
    ("balanced", Deed.REVIEW, Role.SUBAGENT, None, "refuse"),
    ("balanced", Deed.PURGE, Role.SUBAGENT, None, "refuse"),
    ("trusting", Deed.REFLECT, Role.SYSTEM, None, "apply"),
    ("trusting", Deed.REMEMBER, Role.SUBAGENT, Origin.AGENT, "apply"),
    ("trusting", Deed.CONFIRM, Role.AGENT, Origin.UNTRUSTED, "propose"),
    ("strict", Deed.REMEMBER, Role.AGENT, Origin.AGENT, "propose"),
    ("strict", Deed.OBSERVE, Role.SUBAGENT, Origin.AGENT, "refuse"),
    ("strict", Deed.UNDO, Role.AGENT, None, "refuse"),
    ("strict", Deed.REVIEW, Role.AGENT, None, "refuse"),
]


@pytest.mark.parametrize(("preset", "deed", "role", "origin", "verdict"), DECIDED)
def test_presets_decide_as_they_are_described(
    preset: str, deed: Deed, role: Role, origin: Origin | None, verdict: str
) -> None:
    assert Policy.of(preset).decide(deed, role, origin).verdict == verdict


def test_rows_of_a_person_stand_before_the_preset_but_not_before_their_own_word() -> None:
    policy = Policy.of("balanced", ["remember by subagent: apply", "acknowledge by agent: apply"])
    assert str(policy.decide(Deed.REMEMBER, Role.SUBAGENT, Origin.AGENT)) == "remember by subagent: apply"
    assert policy.decide(Deed.ACKNOWLEDGE, Role.AGENT).verdict is Verdict.REFUSE


def test_gravest_verdict_decides() -> None:
    rows = [read_row("note by agent: apply"), read_row("undo by any: refuse"), read_row("vault by any: propose")]
    assert str(strictest(rows)) == "undo by any: refuse"


@pytest.mark.parametrize(
    ("row", "word"),
    [
        ("forget by angel: apply", "angel"),
        ("fly by agent: apply", "fly"),
        ("forget by agent from mars: apply", "mars"),
        ("forget by agent: maybe", "maybe"),
        ("forget agent apply", "form"),
        ("", "form"),
    ],
)
def test_policy_with_unknown_words_is_refused_and_says_which(home: Path, row: str, word: str) -> None:
    home.mkdir()
    (home / "memfolio.toml").write_text(f'policy.rows = ["{row}"]\n', encoding="utf-8")
    with pytest.raises(ConfigError) as refused:
        load_config(home)
    assert "policy.rows" in refused.value.message
    assert word in refused.value.hint


def test_unknown_preset_is_refused(home: Path) -> None:
    home.mkdir()
    (home / "memfolio.toml").write_text('policy.preset = "lax"\n', encoding="utf-8")
    with pytest.raises(ConfigError, match="trusting, balanced or strict"):
        load_config(home)
