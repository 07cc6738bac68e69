"""What is built can be installed where there is nothing, and runs there."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from memfolio import __version__
from tools import dist

ROOT = Path(__file__).parent.parent
BIN = "Scripts" if sys.platform == "win32" else "bin"
LARGEST = 150
"""MB that the base installation may take, without pip and setuptools, which are not ours."""
NOT_OURS = re.compile(r"(pip|setuptools|pkg_resources|_distutils_hack|distutils-precedence)\b")


def pythons() -> dict[str, str]:
    """Every Python that memfolio may run on and that is found here, on the path or as pyenv and uv keep them."""
    found = dict[str, str]()
    for version in ("3.11", "3.12", "3.13", "3.14"):
        folders = (Path.home() / ".pyenv/versions", Path.home() / ".local/share/uv/python")
        beside = [str(path) for folder in folders for path in folder.glob(f"*/bin/python{version}")]
        for path in filter(None, (shutil.which(f"python{version}"), *beside)):
            if subprocess.run([path, "-c", "import venv"], capture_output=True).returncode == 0:
                found.setdefault(version, path)
    return found


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return dist.build(tmp_path_factory.mktemp("dist"))


def call(folder: Path, *command: str | Path, **more: str) -> str:
    """What a program says in an environment that knows nothing of this one."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MEMFOLIO", "VIRTUAL"))}
    around = kept | {"HOME": str(folder), "MEMFOLIO_HOME": str(folder / "memories"), "MEMFOLIO_CACHE": str(folder)}
    run = subprocess.run([*map(str, command)], cwd=folder, env=around | more, capture_output=True, text=True)
    assert run.returncode == 0, f"{command}: {run.stdout}{run.stderr}"
    return run.stdout


def answers(folder: Path, memfolio: Path) -> None:
    """It keeps something and finds it by its meaning, in a home of its own."""
    assert call(folder, memfolio, "--version").strip() == f"memfolio {__version__}"
    call(folder, memfolio, "remember", "Alex prefers tea to coffee")
    found = json.loads(call(folder, memfolio, "recall", "Which hot beverage should I serve?", "--json"))
    assert [hit["content"] for hit in found["hits"]] == ["Alex prefers tea to coffee"]
    assert found["degraded"] == []


def test_wheel_runs_with_nothing_but_its_dependencies(built: tuple[Path, Path], tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=False)
    [packages] = (tmp_path / "venv").glob("lib/python*/site-packages") if BIN == "bin" else [tmp_path / "venv/Lib"]
    # The libraries of this environment, but not memfolio: a .pth in a folder that a .pth names is not read.
    (packages / "libraries.pth").write_text(sysconfig.get_path("purelib"))
    python = tmp_path / "venv" / BIN / "python"
    call(tmp_path, sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", built[0])
    where = call(tmp_path, python, "-c", "import memfolio; print(memfolio.__file__)")
    assert Path(where.strip()).is_relative_to(packages)
    answers(tmp_path, tmp_path / "venv" / BIN / "memfolio")


def test_wheel_has_every_file_of_the_package(built: tuple[Path, Path]) -> None:
    listed = subprocess.run(["git", "ls-files", "src/memfolio"], cwd=ROOT, check=True, capture_output=True, text=True)
    there = {line.removeprefix("src/") for line in listed.stdout.splitlines()}
    assert there - set(zipfile.ZipFile(built[0]).namelist()) == set()


def test_every_extra_of_a_user_is_in_all() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    [line] = extras["all"]
    named = line.removeprefix("memfolio[").removesuffix("]").split(",")
    assert set(named) == set(extras) - {"all", "dev", "peers"}


def installed_with(folder: Path, *command: str | Path, **more: str) -> None:
    """Install something as the configured package index allows; without one there is nothing to try."""
    try:
        call(folder, *command, **more)
    except AssertionError as error:
        if re.search("Could not find a version|No matching distribution|error sending request|Max retries", str(error)):
            pytest.skip(f"there is no package index: {str(error)[-200:]}")
        raise


def weight(packages: Path) -> float:
    """MB on the disk, as `du` counts them, of all that was installed beside pip."""
    files = [path for each in packages.iterdir() if not NOT_OURS.match(each.name) for path in (each, *each.rglob("*"))]
    return sum(path.lstat().st_blocks for path in files) * 512 / 2**20


@pytest.mark.long
@pytest.mark.parametrize("version", pythons())
@pytest.mark.parametrize("kind", [0, 1], ids=["wheel", "sdist"])
def test_pip_installs_it_where_there_is_nothing(
    built: tuple[Path, Path], tmp_path: Path, version: str, kind: int
) -> None:
    call(tmp_path, pythons()[version], "-m", "venv", tmp_path / "venv")
    installed_with(tmp_path, tmp_path / "venv" / BIN / "python", "-m", "pip", "install", "-q", built[kind])
    answers(tmp_path, tmp_path / "venv" / BIN / "memfolio")
    [packages] = (tmp_path / "venv").glob("lib/python*/site-packages")
    assert weight(packages) <= LARGEST


@pytest.mark.long
def test_pipx_installs_it(built: tuple[Path, Path], tmp_path: Path) -> None:
    call(tmp_path, sys.executable, "-m", "venv", tmp_path / "tools")
    installed_with(tmp_path, tmp_path / "tools" / BIN / "python", "-m", "pip", "install", "-q", "pipx")
    where = {"PIPX_HOME": str(tmp_path / "pipx"), "PIPX_BIN_DIR": str(tmp_path / "bin")}
    installed_with(tmp_path, tmp_path / "tools" / BIN / "pipx", "install", f"{built[0]}", **where)
    answers(tmp_path, tmp_path / "bin" / "memfolio")
    # What it says to type where an extra is missing adds it to this installation.
    python = next((tmp_path / "pipx/venvs/memfolio" / BIN).glob("python*"))
    said = call(tmp_path, python, "-c", "from memfolio.machine import install_command; print(install_command('pdf'))")
    pipx, *more = shlex.split(said)
    installed_with(tmp_path, tmp_path / "tools" / BIN / pipx, *more, **where)
    call(tmp_path, python, "-c", "import pypdf")


@pytest.mark.long
def test_uv_installs_it_as_a_tool_with_an_extra(built: tuple[Path, Path], tmp_path: Path) -> None:
    call(tmp_path, sys.executable, "-m", "venv", tmp_path / "tools")
    installed_with(tmp_path, tmp_path / "tools" / BIN / "python", "-m", "pip", "install", "-q", "uv")
    where = {"UV_TOOL_DIR": str(tmp_path / "uv"), "UV_TOOL_BIN_DIR": str(tmp_path / "bin")}
    where |= {"UV_CACHE_DIR": str(tmp_path / "cache"), "UV_PYTHON": sys.executable}
    uv = tmp_path / "tools" / BIN / "uv"
    installed_with(tmp_path, uv, "tool", "install", f"memfolio[mcp] @ {built[0].as_uri()}", **where)
    answers(tmp_path, tmp_path / "bin" / "memfolio")
    python = tmp_path / "uv/memfolio" / BIN / "python"
    said = call(tmp_path, python, "-c", "from memfolio.machine import install_command; print(install_command('pdf'))")
    installed_with(tmp_path, uv, *shlex.split(said)[1:], **where)
    call(tmp_path, python, "-c", "import pypdf")


def install(folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MEMFOLIO", "XDG_"))}
    command = [sys.executable, str(ROOT / "tools/install.py")]
    return subprocess.run(command, env=kept | {"HOME": str(folder)} | more, capture_output=True, text=True)


@pytest.mark.skipif(sys.platform == "win32", reason="has no such links")
def test_installer_leaves_another_program_alone_and_says_what_is_missing(tmp_path: Path) -> None:
    link = tmp_path / ".local/bin/memfolio"
    link.parent.mkdir(parents=True)
    link.write_text("something else")
    refused = install(tmp_path)
    assert (refused.returncode, link.read_text()) == (1, "something else")
    assert f"{link} is another program" in refused.stderr
    assert "needs git" in install(tmp_path, PATH=str(tmp_path)).stderr
    assert not (tmp_path / ".local/share").exists()


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="has no such links")
def test_installer_needs_nothing_but_python_and_git_and_may_be_run_again(tmp_path: Path) -> None:
    program = tmp_path / ".local/bin/memfolio"
    for _ in range(2):
        done = install(tmp_path)
        assert done.returncode == 0, done.stderr
        assert str(program) in done.stdout
    answers(tmp_path, program)
