"""The model that the person already has: the host's own program, run for a single answer."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import field
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from memfolio.config import environment_for_asking, is_asked_by_us
from memfolio.errors import ModelError
from memfolio.llm.model import INSTALL, Allowance, InvalidAnswerError, ModelQuestion, PaidModel
from memfolio.llm.prompt import cleaned, with_schema
from memfolio.text import estimate_tokens, packaged_table, printable
from memfolio.types import frozen

T = TypeVar("T")
OPEN = timedelta(minutes=30)
"""How long after a host's last word a conversation counts as open."""
MAX_BYTES = 4 * 1024 * 1024
"""How much of an answer is read."""
MOST_SAID = 200
POLICY = '[[rule]]\ntoolName = "*"\ndecision = "deny"\npriority = 999\n'
LIMIT = re.compile(
    r"\b(?:usage|rate|spend\w*|session|weekly|daily|monthly|hourly) limit|limit (?:reached|exceeded)|hit your limit"
    r"|quota|too many requests|\b429\b|resource.exhausted|insufficient.(?:quota|credit)|credit balance|out of credits",
    re.IGNORECASE,
)
"""How programs say that nothing more is to be had for now."""
HINT = "run the program by hand to see what it wants; rules do the work meanwhile"


@frozen
class HostProgram:
    """How the program of a host is asked, as `data/hosts.toml` has it."""

    name: str
    title: str
    program: str
    arguments: tuple[str, ...]
    last: tuple[str, ...] = ()
    small: str = ""
    """The name of its small model, if it has one."""
    environment: Mapping[str, str] = field(default_factory=dict)
    overhead: int = 0
    """Tokens that it sends along with a question, about."""
    terms: str = ""
    """The terms of use, shown when it is switched on."""

    def command(self, path: str, model: str, filled: Mapping[str, str]) -> list[str]:
        model = model or self.small
        named = ["--model", model] if model else []
        return [path, *(_filled(each, filled) for each in self.arguments), *named, *self.last]


def _filled(text: str, values: Mapping[str, str]) -> str:
    """Replace names in braces; other braces, as in TOML, stay."""
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text


@cache
def host_programs() -> dict[str, HostProgram]:
    """The programs that can be asked, by the names of their hosts."""
    tables = packaged_table("llm/data/hosts.toml")
    return {name: HostProgram(name=name, **_frozen(table)) for name, table in tables.items()}


def _frozen(table: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in table.items()}


def host_and_model(name: str) -> tuple[str, str]:
    """The host that `model.name` names, else `auto`, and the model, else none: `codex`, `codex:MODEL` or `MODEL`."""
    host, _, model = name.partition(":")
    return (host, model) if host in host_programs() else ("auto", name)


def found_program(host: str) -> tuple[HostProgram, str] | None:
    """Return the program of a host, or with `auto` the first one found, and its path; None if there is none."""
    wanted = host_programs().values() if host == "auto" else [host_programs()[host]]
    return next(((each, path) for each in wanted if (path := shutil.which(each.program))), None)


class Said(NamedTuple):
    """The answer of a program: its text, input and output tokens, and the error."""

    text: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    trouble: str = ""


class HostModel(PaidModel):
    """Asks the program of a host, which runs apart: in an empty folder, without tools, and without our own hooks."""

    def __init__(self, name: str, *, timeout: float, allowance: Allowance) -> None:
        self._host, self._model = host_and_model(name)
        super().__init__(f"host:{self._host}", timeout, allowance)

    def _check(self) -> None:
        if is_asked_by_us():
            raise ModelError("this runs inside a question to the host", hint="it does not ask itself")
        if found_program(self._host) is None:
            programs = host_programs()
            wanted = ", ".join(each.program for each in programs.values()) if self._host == "auto" else ""
            named = wanted or programs[self._host].program
            raise ModelError(f"there is no {named} on the path", hint='install it, or set model.provider to "none"')
        if not self._allowance.usage.heard_within(OPEN):
            raise ModelError("no conversation is open", hint="the host's model is asked while its hooks report one")

    def _answer(self, question: ModelQuestion[T]) -> T:
        found = found_program(self._host)
        assert found  # `_check` has looked
        program, path = found
        try:
            instructions = with_schema(question)
        except ImportError as error:
            raise ModelError(f"the package {error.name} is not installed", hint=INSTALL) from error
        ours = estimate_tokens(instructions) + estimate_tokens(question.material)
        reserved = self._reserve(ours + self._overhead(program) + question.most)
        said = self._said(program, path, instructions, question)
        tokens_in = max(said.tokens_in, ours)
        self._allowance.usage.settle(reserved, tokens_in, said.tokens_out, tokens_in - ours)
        if said.trouble:
            raise self._failed(program, said.trouble)
        return cleaned(_read(said.text, question.answer, program.title))

    def _overhead(self, program: HostProgram) -> int:
        """Return the overhead of the program: its average today, once known."""
        today = self._allowance.usage.spent(self._allowance.usage.today)
        return max(program.overhead, today.overhead // today.calls if today.calls else 0)

    def _said(self, program: HostProgram, path: str, instructions: str, question: ModelQuestion[Any]) -> Said:
        with tempfile.TemporaryDirectory(prefix="memfolio-") as folder:
            filled = {"instructions": instructions, "most": str(question.most)}
            for name, text in {"system": instructions, "policy": POLICY}.items():
                place = Path(folder) / f"{name}.toml"
                place.write_text(text, encoding="utf-8")
                filled[name] = place.as_posix()
            command = program.command(path, self._model, filled)
            environment = {name: _filled(value, filled) for name, value in program.environment.items()}
            output = _run(command, environment, question.material, folder, self._timeout, program.title)
        return _parsed(output)

    def _failed(self, program: HostProgram, trouble: str) -> ModelError:
        said = printable(trouble)[:MOST_SAID]
        if LIMIT.search(trouble):  # asking again would only make it worse
            self._allowance.usage.stop(self.name, said)
            return ModelError(f"{program.title} says: {said}", hint="it is not asked again today")
        return ModelError(f"{program.title} did not answer: {said}", hint=HINT)


def _run(
    command: list[str], environment: Mapping[str, str], material: str, folder: str, timeout: float, title: str
) -> str:
    """Run a program and return its output; it and its children are killed when the time is over."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as given:
        given.write(material.encode("utf-8", "replace"))
        given.seek(0)
        try:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment_for_asking(environment),
                stdin=given,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise ModelError(f"{title} cannot be started: {error.strerror}", hint=HINT) from error
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired as error:
            hint = "raise model.timeout, or use a smaller model"
            raise ModelError(f"{title} did not answer within {timeout:g} seconds", hint=hint) from error
        finally:
            _end(process)
        output.seek(0)
        return output.read(MAX_BYTES).decode("utf-8", "replace")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill a running program and its children."""
    with suppress(OSError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


# What programs print. Pure.


def _parsed(output: str) -> Said:
    """Parse the output: one JSON document, or one per line."""
    text, trouble, tokens_in, tokens_out = "", "", 0, 0
    for each in _documents(output):
        usage = each.get("usage")
        if isinstance(usage, dict):
            cached = ("cache_creation_input_tokens", "cache_read_input_tokens")
            tokens_in += sum(_count(usage.get(name)) for name in ("input_tokens", *cached))
            tokens_out += _count(usage.get("output_tokens"))
        for tokens in _counted_by_model(each.get("stats")):
            tokens_in += _count(tokens.get("prompt"))
            tokens_out += _count(tokens.get("candidates")) + _count(tokens.get("thoughts"))
        item, error = each.get("item"), each.get("error")
        if isinstance(item, dict) and item.get("type") == "agent_message":
            text = str(item.get("text") or "")
        text = str(each.get("response") or (not each.get("is_error") and each.get("result")) or text)
        if error or each.get("is_error") or each.get("type") in ("error", "turn.failed"):
            said = error.get("message") if isinstance(error, dict) else error
            trouble = str(said or each.get("result") or each.get("message") or "it failed")
    if not text and not trouble:
        trouble = output.strip()[-MOST_SAID:] or "it printed nothing"
    return Said(text, tokens_in, tokens_out, "" if text else trouble)


def _documents(output: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects in an output; other text, such as warnings, is skipped."""
    decoder, at = json.JSONDecoder(), 0
    while (at := output.find("{", at)) >= 0:
        try:
            found, at = decoder.raw_decode(output, at)
        except (ValueError, RecursionError):
            at += 1
            continue
        if isinstance(found, dict):
            yield found


def _counted_by_model(stats: object) -> Iterator[dict[str, Any]]:
    models = stats.get("models") if isinstance(stats, dict) else None
    for each in models.values() if isinstance(models, dict) else ():
        if isinstance(each, dict) and isinstance(tokens := each.get("tokens"), dict):
            yield tokens


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _read(text: str, answer: type[T], title: str) -> T:
    """Parse the value in a text; raises ModelError if it has another form."""
    from pydantic import TypeAdapter, ValidationError

    inside = text.rpartition("</think>")[2]
    try:
        return TypeAdapter(answer).validate_json(inside[inside.find("{") : inside.rfind("}") + 1])
    except (ValidationError, RecursionError) as error:
        raise InvalidAnswerError(f"{title} did not answer with what was asked for", hint=HINT) from error
