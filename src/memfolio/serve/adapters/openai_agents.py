"""OpenAI Agents SDK: a session whose items are turns of a conversation, and the tools of a memory."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from memfolio.errors import InputError
from memfolio.index.lookup import Located
from memfolio.memory import Memory
from memfolio.serve.adapters import Given, caller_of, check_size, held, memory_of, missing, plain, schema_of
from memfolio.serve.cli.output import as_json
from memfolio.serve.mcp.caller import Caller
from memfolio.serve.tools.tool import Tool
from memfolio.stores import mend
from memfolio.stores.kin import kin_of
from memfolio.tend.cited import without_citations
from memfolio.types import Attribution, check_token

try:
    from agents import FunctionTool, SessionSettings, TResponseInputItem
    from agents.tool_context import ToolContext
except ImportError as error:
    raise missing("openai-agents", "openai-agents") from error

BY = Attribution(actor="bot:openai-agents", trigger="session")
ITEM, PLACE = "item", "place"
_IN_ORDER = """AND json_type(m.more, '$.attributes.item') = 'object'
    AND json_type(m.more, '$.attributes.place') = 'integer'
    ORDER BY json_extract(m.more, '$.attributes.place')"""
LONGEST = 20_000
"""Characters of an item that are searched; all of it is kept."""


class MemfolioSession:
    """The history of one conversation, kept item by item: the `Session` protocol of the SDK.

    Threads, tasks and processes may share a session. `pop_item` and `clear_session` forget, which can be undone.
    """

    session_settings: SessionSettings | None

    def __init__(
        self,
        session_id: str,
        memory: Given = None,
        *,
        user: str | None = None,
        session_settings: SessionSettings | None = None,
    ) -> None:
        self.session_id = check_token("session", session_id)
        self.memory = memory_of(memory)
        self.user = user
        self.session_settings = session_settings or SessionSettings()

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The items in their order; with `limit`, the latest so many."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        found = await asyncio.to_thread(self._latest, limit)
        return [plain(each.item.attributes[ITEM]) for each in found]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Note items as one change: all of them, or none."""
        await asyncio.to_thread(self._add, items)

    async def pop_item(self) -> TResponseInputItem | None:
        """Forget the latest item and return it; None where there is none."""
        found = await asyncio.to_thread(self._forget, 1)
        return plain(found[0].item.attributes[ITEM]) if found else None

    async def clear_session(self) -> None:
        """Forget all items, and what was learned from them alone."""
        await asyncio.to_thread(self._forget, None)

    def _latest(self, limit: int | None) -> list[Located]:
        if limit is not None and limit <= 0:
            return []
        most = -1 if limit is None else limit
        return held(self.memory, f"{_IN_ORDER} DESC LIMIT ?", most, session=self.session_id)[::-1]

    def _add(self, items: Sequence[Any]) -> None:
        with self.memory.vault.writer.ready():  # of several who add at once, each takes the places after the last
            last = self._latest(1)
            first = last[0].item.attributes[PLACE] + 1 if last else 0
            self.memory.observe_many(self._turn(item, place) for place, item in enumerate(items, first))

    def _turn(self, item: Any, place: int) -> dict[str, Any]:
        if not isinstance(item, Mapping):
            raise InputError(f"an item is a {type(item).__name__}", hint="pass dictionaries, as the SDK does")
        check_size(self.memory, item)
        role = item.get("role") or "tool"  # calls, their results and reasoning are nobody's word
        turn = {"role": role, "content": _text(item)[:LONGEST], "session": self.session_id, "user": self.user}
        return {**turn, "attributes": {ITEM: dict(item), PLACE: place}}

    def _forget(self, limit: int | None) -> list[Located]:
        vault, library = self.memory.vault, self.memory.library
        with vault.writer.ready():
            found = self._latest(limit)
            if not found:
                return []
            kin = kin_of(library.index, [each.item.id for each in found])
            going = [*found, *(each[1] for name in kin.going if (each := library.locate(name)))]
            with_places = [(each, library.places(library.index, each.item.id)) for each in going]
            mend.forget(vault, with_places, BY, freed=kin.freed, dry_run=False)
            if pages := without_citations(vault, library.index, [each.item.id for each in going], BY):
                vault.apply(pages)
        return found


def _text(item: Mapping[str, Any]) -> str:
    """What can be searched of an item: the words of a message, or what was called with which arguments."""
    if item.get("type") == "function_call":
        return f"{item.get('name')}({item.get('arguments')})"
    words = _words(item.get("content") or item.get("output") or item.get("summary")).replace("\0", "")
    return words if words.strip() else f"[{item.get('type', 'message')}]"


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        value = value.get("text") or value.get("transcript") or value.get("refusal")
    if isinstance(value, list | tuple):
        return "\n".join(filter(None, map(_words, value)))
    return value if isinstance(value, str) else ""


def memory_tools(memory: Memory, names: Sequence[str] = ("recall", "remember")) -> list[FunctionTool]:
    """Tools for an agent of the SDK, by their names or that of a set such as "core"; errors are told, not raised."""
    caller = caller_of(memory, names)
    return [_function(tool, caller) for tool in caller.tools.values()]


def _function(tool: Tool, caller: Caller) -> FunctionTool:
    async def invoke(_: ToolContext[Any], arguments: str) -> str:
        try:
            given = dict(json.loads(arguments or "{}"))
        except (TypeError, ValueError):
            return as_json({"error": {"code": "input", "message": "the arguments are no JSON object", "hint": ""}})
        return as_json((await asyncio.to_thread(caller.call, tool.name, given)).document)

    return FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=schema_of(tool),
        on_invoke_tool=invoke,
        strict_json_schema=False,  # optional arguments may be left out
    )
