"""Who may see the page: a session in the server's memory, and requests that come from the page itself."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from memfolio.serve.http.errors import Refusal
from memfolio.serve.page.launch import Address, hash_of

SECONDS = 12 * 3600
COOKIE = "mf_page"
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "referrer-policy": "same-origin",  # with `no-referrer`, forms would send `Origin: null`
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
"""On every answer of the page; `nosniff` and `no-store` are on all answers of the server."""


@dataclass(slots=True)
class Session:
    """Somebody who came in with a key."""

    until: float
    outcome: tuple[str, str] | None = None
    """What came of the last decision, and by which changes, until it is shown."""


class Sessions:
    """Those who came in, by the hashes of their cookies."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._known: dict[str, Session] = {}

    def __len__(self) -> int:
        self._known = {mark: each for mark, each in self._known.items() if self.is_good(each)}
        return len(self._known)

    def is_good(self, session: Session) -> bool:
        return session.until > self._now()

    def begin(self, response: Response) -> None:
        """Let whoever gets this answer come in from now on."""
        secret = secrets.token_urlsafe(32)
        self._known[hash_of(secret)] = Session(until=self._now() + SECONDS)
        response.set_cookie(COOKIE, secret, max_age=SECONDS, path="/", httponly=True, samesite="strict")

    def of(self, request: Request) -> Session:
        """The session of a request; Refusal where it has none."""
        found = self._known.get(hash_of(request.cookies.get(COOKIE, "")))
        if found is None or not self.is_good(found):
            raise Refusal(401, "session", "The page is not open in this browser.", "")
        return found

    def end(self, request: Request) -> None:
        if found := self._known.pop(hash_of(request.cookies.get(COOKIE, "")), None):
            found.until = 0  # other tabs that listen are told no more


def check_request(request: Request, address: Address) -> None:
    """Refuse what another page, another name or another program asks for; a session alone is not enough.

    `Sec-Fetch-Site` is `none` where a person typed an address or took a bookmark.
    """
    headers, host = request.headers, request.headers.get("host", "").lower()
    if host not in address.hosts:
        raise Refusal(403, "host", "The page does not go by that name.", "")
    site, is_navigation = headers.get("sec-fetch-site"), headers.get("sec-fetch-mode") == "navigate"
    if request.method == "POST":
        is_ours = headers.getlist("origin") == [f"http://{host}"] and site == "same-origin"
    else:
        is_entrance = request.url.path in ("/", "/enter")
        is_ours = site == "same-origin" or (is_navigation and (site == "none" or is_entrance))
    if not is_ours:
        raise Refusal(403, "origin", "That did not come from the page, so nothing was done.", "use its own links")
