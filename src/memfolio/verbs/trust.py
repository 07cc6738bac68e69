"""The verbs about who decided what: proposals, reflection, the trail, and the way back."""

from __future__ import annotations

from memfolio.verbs import documents
from memfolio.verbs.verb import Verb, only_in_python

OWNER = "only the owner may, with a token of theirs or at the command line"

VERBS = (
    Verb(does="proposals.pending", effect="read", shows=documents.proposal, words="waiting approval decide"),
    Verb(does="proposals.get", effect="read", shows=documents.proposal, words="waiting approval decide"),
    Verb(does="reflect", effect="change", slow=True, words="look back review propose improvements"),
    Verb(does="restore", effect="change", shows=documents.edit_result, words="bring back undo forgotten archived"),
    Verb(does="audit.log", effect="read", words="history changes who when trail"),
    Verb(does="audit.diff", effect="read", admin=True, lacks={"mcp": OWNER}),
    Verb(does="purge", effect="remove", slow=True, admin=True, lacks={"mcp": OWNER}),
    only_in_python("undo", "remove", OWNER),
    only_in_python("alerts", "read", OWNER),
    only_in_python("watch", "change", "`tend` does it"),
    only_in_python("acknowledge", "change", OWNER),
)
