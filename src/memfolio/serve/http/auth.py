"""Who is let in: decided from the head of a request, before a byte of its body is read."""

from __future__ import annotations

from starlette.requests import HTTPConnection

from memfolio.serve.http.errors import Refusal
from memfolio.serve.tokens import Token, Tokens

AGENT = "agent"
HINT = 'send Authorization: Bearer SECRET; `memfolio token create "what it is for"` makes one'


def admitted(request: HTTPConnection, tokens: Tokens, scope: str = "read") -> Token:
    """The token of a request that may come in; raises Refusal for all others."""
    token = tokens.bearer(_secret(request))
    if token is None:
        raise _unknown("the token is not known, or was revoked", 'Bearer error="invalid_token"')
    if any(each != token.agent for each in request.query_params.getlist(AGENT)):
        raise foreign(token.agent)
    if not token.lets(scope):
        hint = f'`memfolio token create "…" --scope {scope}` makes one that is enough'
        raise Refusal(403, "scope", f"this needs a token that may {scope}; yours may {token.scope}", hint)
    return token


def foreign(agent: str) -> Refusal:
    """What is said to somebody who names another agent than the token's own."""
    return Refusal(403, "foreign-agent", f"the token is for {agent}", "name no other agent, or take its own token")


def _secret(request: HTTPConnection) -> str:
    given = request.headers.getlist("authorization")
    kind, _, secret = given[0].partition(" ") if len(given) == 1 else ("", "", "")
    if kind.lower() != "bearer" or not secret.strip():
        raise _unknown("a token is needed", "Bearer")
    return secret.strip()


def _unknown(message: str, challenge: str) -> Refusal:
    return Refusal(401, "token", message, HINT, www_authenticate=challenge)
