"""Verbs that become proposals where the policy wants somebody's leave, and how a proposal is carried out."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from memfolio.errors import InputError, PolicyError, ProposedError
from memfolio.state import moment

if TYPE_CHECKING:  # what proposes is loaded when something has to be proposed
    from memfolio.govern.proposals.proposal import Intent

P = ParamSpec("P")
R = TypeVar("R")
LEFT_OUT = ("self", "by", "dry_run")


def proposable(verb: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Propose the call of a method where the policy allows no more; its object has `_propose(intent, error)`.

    What is committed at once is returned as if it had been done; else ProposedError names the proposal.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return function(*args, **kwargs)
            except PolicyError as error:
                if not error.can_propose or kwargs.get("dry_run"):
                    raise
                import inspect

                from memfolio.govern.proposals.proposal import intent_of

                given = inspect.signature(function).bind(*args, **kwargs).arguments
                try:
                    intent = intent_of(verb, {name: each for name, each in given.items() if name not in LEFT_OUT})
                except InputError:  # no page can hold this call
                    raise error from None
                proposal = cast(Any, args[0])._propose(intent, error)
                if proposal.made is None:
                    raise ProposedError(
                        proposal.id, row=error.row, to=proposal.to, proposer=proposal.proposer
                    ) from error
                return cast(R, proposal.made)

        return call

    return decorate


def carry_out(memory: object, intent: Intent) -> object:
    """Call the verb of a `Memory` that an intent names."""
    from memfolio.govern.proposals.proposal import TIMES

    given = {name: moment(value) if name in TIMES else value for name, value in intent.arguments.items()}
    return attrgetter(intent.verb)(memory)(**given)
