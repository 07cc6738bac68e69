"""What a request may cost."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much a client may ask for; times in seconds."""

    body: int = 2 << 20
    head: int = 16 << 10
    head_seconds: float = 10
    body_seconds: float = 15
    send_seconds: float = 30
    linger_seconds: float = 2
    """How long a body that nobody wants is read on, so that its sender sees the answer."""
    connections: int = 256
