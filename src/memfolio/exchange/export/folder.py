"""A folder of files that appears whole: it is made beside its place and gets its name at the end."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from memfolio.vault.disk import Disk


def write_folder(files: Iterable[tuple[str, bytes]], target: Path, disk: Disk, check: Callable[[], None]) -> None:
    """Write the files; what an export that was killed left beside the place is begun anew."""
    beside = target.parent / f".{target.name}.exporting"
    shutil.rmtree(beside, ignore_errors=True)
    try:
        disk.make_dirs(beside)
        for path, data in files:
            disk.put(beside / path, data)
        check()
        _give_name(disk, beside, target)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
    disk.sync_dir(target.parent)


def _give_name(disk: Disk, beside: Path, target: Path) -> None:
    if os.name == "nt" and target.is_dir():  # there an empty folder is not replaced
        shutil.rmtree(target)
    disk.rename(beside, target)
