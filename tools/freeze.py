"""Renew the snapshots of what programs rely on: `python -m tools.freeze [NAME…]`.

A test holds the code to them, so that nothing changes by the way. Whoever changes something on purpose renews them,
looks at the difference, and tells it in the changelog.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile

from tests.frozen.snapshots import SNAPSHOTS, differences, keep, kept, path_of, plain


def main(names: list[str]) -> None:
    os.environ["MEMFOLIO_CACHE"] = tempfile.mkdtemp(prefix="memfolio-cache-")
    for name in names or SNAPSHOTS:
        value = plain(SNAPSHOTS[name]())
        before = kept(name) if path_of(name).exists() else {}
        for each in differences(before, value) if before else ():
            print(f"{name}: {each[:300]}")
        keep(name, value)
    shutil.rmtree(os.environ["MEMFOLIO_CACHE"])


if __name__ == "__main__":
    main(sys.argv[1:])
