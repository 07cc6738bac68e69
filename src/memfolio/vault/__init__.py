"""The vault: files that cannot be lost, and a trail that can undo every change.

Start with `vault.py` (the public door), then `writer.py` (how a change is made), `reconcile.py` (how edits by others
are recorded), `journal.py` (the trail, and recovery after a crash), `committer.py` (how changes get into git). `log.py`
and `lines.py` define the file formats, `git/` is the history, `past/` is undo and rollback.
"""
