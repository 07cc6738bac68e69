"""OpenAI Agents SDK: a session whose items are turns of a conversation, and the tools of a memory."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from memfolio.clock import EPOCH
from memfolio.errors import InputError
from memfolio.index.rows import from_us
from memfolio.memory import Memory
from memfolio.serve.adapters import (
    ALL,
    AdapterItem,
    Given,
    caller_of,
    check_size,
    memory_of,
    missing,
    schema_of,
    session_items,
)
from memfolio.serve.hooks.pause import is_paused
from memfolio.serve.mcp.caller import Caller
from memfolio.types import Attribution, check_token
from memfolio.vault.fields import normalise_content
from memfolio.verbs.documents import as_json
from memfolio.verbs.verb import Verb

try:
    from agents import FunctionTool, SessionSettings, TResponseInputItem
    from agents.tool_context import ToolContext
except ImportError as error:
    raise missing("openai-agents", "openai-agents") from error

BY = Attribution(actor="bot:openai-agents", trigger="session")
LONGEST = 20_000
"""How many characters of an item are searched; all of it is stored."""


class MemfolioSession:
    """The history of one conversation, kept item by item: the `Session` protocol of the SDK.

    Threads, tasks and processes may share a session. `pop_item` and `clear_session` forget, which can be undone. Items
    that are added in a pause are only in this object.
    """

    session_settings: SessionSettings | None

    def __init__(
        self,
        session_id: str,
        memory: Given = None,
        *,
        user: str | None = None,
        session_settings: SessionSettings | dict[str, Any] | None = None,
    ) -> None:
        self.session_id = check_token("session", session_id)
        self.memory = memory_of(memory)
        self.user = user
        self._unkept: list[AdapterItem] = []
        self.session_settings = SessionSettings().resolve(session_settings)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The items in their order; with `limit`, the latest so many, where less than none are all."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        return [_item(each) for each in await asyncio.to_thread(self._latest, limit)]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Note items as one change: all of them, or none."""
        await asyncio.to_thread(self._add, items)

    async def pop_item(self) -> TResponseInputItem | None:
        """Forget the latest item and return it; None where there is none."""
        found = await asyncio.to_thread(self._forget, 1)
        return _item(found[0]) if found else None

    async def clear_session(self) -> None:
        """Forget all items, and what was learned from them alone."""
        await asyncio.to_thread(self._forget, ALL)

    def _latest(self, limit: int | None) -> list[AdapterItem]:
        most = ALL if limit is None else max(ALL, limit)
        kept = self.memory.searcher.index.read(lambda connection: session_items(connection, self.session_id, most))
        if not self._unkept or not most:
            return kept
        found = sorted([*kept, *self._unkept], key=_place)
        return found if most == ALL else found[-most:]

    def _add(self, items: Sequence[Any]) -> None:
        with self.memory.vault.exclusive():  # of several who add at once, each takes the places after the last
            last = next(iter(self._latest(1)), None)
            first, then = (_place(last) + 1, from_us(last.happened)) if last else (0, EPOCH)
            if is_paused(self.memory.vault.config.home, os.getcwd()):
                self._unkept += [_unkept(self._turn(item, at, None)) for at, item in enumerate(items, first)]
                return
            at = then if self.memory.vault.home.clock.now() < then else None  # nothing happens before what came before
            noted = self.memory.observe_many(self._turn(item, place, at) for place, item in enumerate(items, first))
        for each in noted:
            if each.role == "user":
                self.memory.act_on(each.content, user=self.user)

    def _turn(self, item: Any, place: int, at: datetime | None) -> dict[str, Any]:
        if not isinstance(item, Mapping):
            raise InputError(f"an item is a {type(item).__name__}", hint="pass dictionaries, as the SDK does")
        check_size(self.memory, item)
        role = item.get("role") or "tool"  # calls, their results and reasoning are nobody's word
        text, rest = _text(item)[:LONGEST], {name: each for name, each in item.items() if name != "content"}
        is_text = item.get("content") == text == normalise_content(text)
        attributes = {"place": place, **({"message": rest} if is_text else {"item": dict(item)})}
        turn = {"role": role, "content": text, "session": self.session_id, "user": self.user}
        return {**turn, "at": at, "attributes": attributes}

    def _forget(self, limit: int) -> list[AdapterItem]:
        with self.memory.vault.exclusive():
            found = self._latest(limit)
            if ids := [each.id for each in found if each.id]:
                self.memory.forget(ids, by=BY)
            self._unkept = [each for each in self._unkept if each not in found]
        return found


def _place(held: AdapterItem) -> int:
    return int(held.attributes["place"])


def _unkept(turn: Mapping[str, Any]) -> AdapterItem:
    """An item that is kept nowhere, and so has no id and no time."""
    return AdapterItem(id="", made=0, happened=0, text=turn["content"], attributes=turn["attributes"])


def _text(item: Mapping[str, Any]) -> str:
    """Return the searchable text of an item: the words of a message, or a call with its arguments."""
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


def _item(held: AdapterItem) -> Any:
    """Return an item as it was given: whole, or a message with the memory's own text."""
    given = held.attributes
    return given["item"] if "item" in given else {**given["message"], "content": held.text}


def _function(tool: Verb, caller: Caller) -> FunctionTool:
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
