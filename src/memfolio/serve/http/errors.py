"""Errors over HTTP: one table of status codes, and one shape."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import Response

from memfolio import errors
from memfolio.errors import MemfolioError, PolicyError, ProposedError

STATUS: Mapping[type[MemfolioError], int] = {
    ProposedError: 202,
    errors.RefusedError: 403,
    errors.NotFoundError: 404,
    errors.ConflictError: 409,
    errors.InputError: 422,
    errors.InferenceLimitError: 422,
    errors.EmbedderError: 424,
    errors.ModelError: 424,
    errors.MirrorError: 424,
    errors.DiskFullError: 507,
    errors.SearchIndexError: 503,
    errors.HomeError: 503,
    errors.ConfigError: 503,
    MemfolioError: 500,
}
"""The first that fits counts. 424: something that the home relies on did not answer."""
PLAIN = {
    400: ("body", "the body cannot be read", "send one JSON document"),
    404: ("not-found", "there is no such route", "/openapi.json lists them"),
    405: ("method", "the route has no such method", "/openapi.json lists them"),
}


class Refusal(HTTPException):
    """A request that is turned away at the door."""

    def __init__(self, status: int, code: str, message: str, hint: str, **headers: str) -> None:
        super().__init__(status, headers={name.replace("_", "-"): value for name, value in headers.items()})
        self.document = error_document(code, message, hint)


def error_document(code: str, message: str, hint: str, **more: str) -> dict[str, Any]:
    """An error as all programs get it."""
    return {"error": {"code": code, "message": message, "hint": hint, **more}}


def document_of(error: MemfolioError) -> dict[str, Any]:
    """Return the document of an error; a proposal made instead is a normal answer."""
    # Nothing went wrong: the caller has to know what waits for approval.
    if isinstance(error, ProposedError):
        return {"proposed": error.proposal, "policy": error.row, "hint": error.hint}
    more = {"policy": error.row} if isinstance(error, PolicyError) else {}
    return error_document(error.code, error.message, error.hint, **more)


def reply(status: int, document: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Response:
    """A JSON answer in ASCII, since a message may quote what UTF-8 has no form for."""
    return Response(json.dumps(document), status, headers, "application/json")


def status_of(error: MemfolioError) -> int:
    """The status of the answer to an error."""
    return next(status for kind, status in STATUS.items() if isinstance(error, kind))


def answer_to(error: Exception) -> Response:
    """Return the response to an error."""
    if isinstance(error, MemfolioError):
        status = status_of(error)
        return reply(status, document_of(error), {"retry-after": "1"} if status == 503 else None)
    if isinstance(error, Refusal):
        return reply(error.status_code, error.document, error.headers)
    if isinstance(error, HTTPException):
        return reply(
            error.status_code, error_document(*PLAIN.get(error.status_code, ("http", error.detail, ""))), error.headers
        )
    # A mistake of ours, which the server logs and strangers are not told.
    return reply(500, error_document("internal", "something went wrong here", "the server's log has more"))


def _schema(title: str, *optional: str, **fields: Any) -> dict[str, Any]:
    required = [name for name in fields if name not in optional]
    return {"title": title, "type": "object", "properties": fields, "required": required}


def _ref(schema: str) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}}


TEXT = {"type": "string"}
# Schemas and not models: the framework makes a validator of its own for each model of each route, a second's work.
SCHEMAS = {
    "Error": _schema("Error", "policy", code=TEXT, message=TEXT, hint=TEXT, policy=TEXT | {"default": ""}),
    "Failure": _schema("Failure", error={"$ref": "#/components/schemas/Error"}),
    "Proposed": _schema("Proposed", proposed=TEXT, policy=TEXT, hint=TEXT),
}
RESPONSES: dict[int | str, dict[str, Any]] = {
    202: _ref("Proposed") | {"description": "It needs approval, and was proposed."},
    **{status: _ref("Failure") for status in (400, 401, 403, 404, 408, 409, 413, 422, 424, 431, 503)},
}
