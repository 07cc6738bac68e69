"""What real hosts taught about the hooks that they are given."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from memfolio.serve.install.hosts import GEMINI
from memfolio.serve.install.program import Program
from tools import plugins


def test_gemini_is_not_kept_waiting_before_each_call_of_a_model() -> None:
    """It announces a compression of kind `auto` every time, awaits the hook, and then mostly compresses nothing."""
    package = json.loads(plugins.packages()["gemini/hooks/hooks.json"])
    for hooks in (package["hooks"], GEMINI.hooks_of(Program())["hooks"]):
        assert [group.get("matcher") for group in hooks["PreCompress"]] == ["manual"]
        assert not any("matcher" in group for name in hooks if name != "PreCompress" for group in hooks[name])


def test_openclaw_that_keeps_its_state_elsewhere_is_told_there(tmp_path: Path) -> None:
    state, home = tmp_path / "state", tmp_path / "home"
    state.mkdir()
    (state / "openclaw.json").write_text("{ gateway: { mode: 'local', }, } // mine\n")
    environment = os.environ | {"HOME": str(tmp_path), "OPENCLAW_STATE_DIR": str(state), "MEMFOLIO_HOME": str(home)}
    program = [sys.executable, "-c", "from memfolio.serve.cli import main; main()"]
    subprocess.run([*program, "install", "openclaw"], env=environment, check=True, capture_output=True)
    assert '"mcp"' in (state / "openclaw.json").read_text()
    assert not (tmp_path / ".openclaw").exists()
