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
    Verb(name="changed", does="account.changed", effect="read", words="what is new this week since yesterday lately"),
    Verb(name="why", does="account.why", effect="read", words="did you say that how do you know source reason"),
    Verb(name="forget_about", does="account.forget_about", effect="remove", words="everything all person thing delete"),
    Verb(does="audit.diff", effect="read", admin=True, lacks={"mcp": OWNER}),
    Verb(does="purge", effect="remove", slow=True, admin=True, lacks={"mcp": OWNER}),
    only_in_python("undo", "remove", OWNER),
    only_in_python("alerts", "read", OWNER),
    only_in_python("watch", "change", "`tend` does it"),
    only_in_python("acknowledge", "change", OWNER),
)
