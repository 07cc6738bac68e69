"""What goes along when memories are forgotten: what was made of them would tell of them."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import NamedTuple

from memfolio.index.index import Index
from memfolio.index.lookup import by_id
from memfolio.index.shelf import MADE
from memfolio.index.ties import made_of


class Kin(NamedTuple):
    """What goes along, and the sources of summaries that do, which can be summed up again without them."""

    going: list[str]
    freed: list[str]


def kin_of(index: Index, ids: Collection[str]) -> Kin:
    """What was made of these memories alone, and every summary that has a line about one of them."""
    going, freed = dict.fromkeys(ids), dict[str, None]()
    for made, sources in index.read(lambda db: made_of(db, ids)).items():
        found = index.read(partial(by_id, id=made))
        if found is None or found.item.forgotten_at or found.form != "memory":
            continue
        if found.item.source in MADE:
            freed.update(dict.fromkeys(sorted(sources)))
        if found.item.source in MADE or sources <= going.keys():
            going[made] = None
    return Kin([each for each in going if each not in set(ids)], [each for each in freed if each not in going])
