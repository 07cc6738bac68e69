"""The hosts: what each of their events is to us, and the form in which each takes an answer.

Imports nothing, because every event of every host waits for it.
"""

START, PROMPT, ANSWER, CUT, END = ORDER = ("start", "prompt", "answer", "cut", "end")
"""What an event is: a conversation begins, somebody asks, the agent answers, it is cut short, it is over."""
_NAMES = {
    "claude-code": ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"),
    "codex": ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"),
    "gemini": ("SessionStart", "BeforeAgent", "AfterAgent", "PreCompress", "SessionEnd"),
    "cursor": ("sessionStart", "beforeSubmitPrompt", "afterAgentResponse", "preCompact", "sessionEnd"),
}
TOLD = (START, PROMPT)
"""When an agent can be told something."""
MUTE = "PreCompact"
"""When nothing may be printed: Claude Code takes it for an instruction on how to sum the conversation up."""
ACTS = {host: dict(zip(names, ORDER, strict=True)) for host, names in _NAMES.items()}
"""What the events of each host are; it has others, which mean nothing to us."""
MOST_CHARACTERS = 9_500
"""What every host takes: Claude Code up to 10,000 characters."""
MOST_TOKENS = 2_000
"""By estimate; Codex puts what has more than 2,500 into a file."""


def begins_again(host: str) -> bool:
    """Whether the host begins the conversation again after it was cut; else it is told with the next prompt."""
    return host in ("claude-code", "codex")


def shaped(host: str, event: str, text: str | None) -> dict[str, object]:
    """An answer with this text in the host's own form, which has no keys beside those that it knows."""
    if text is None:
        return {}
    if host == "cursor":
        return {"additional_context": text}
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def text_of(answer: dict[str, object]) -> str:
    """The text of an answer in a host's own form."""
    inside = answer.get("hookSpecificOutput")
    found = inside.get("additionalContext") if isinstance(inside, dict) else answer.get("additional_context")
    return str(found or "")
