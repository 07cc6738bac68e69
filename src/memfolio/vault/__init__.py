"""The vault: files that cannot be lost, and a trail that undoes.

Start with `vault.py` (what can be asked), then `writer.py` (how a change is made), `reconcile.py` (what others did
to a file), `journal.py` (what a crash left), `committer.py` (how it gets into git). `entry.py` and `log.py` say how
files read, `git/` is the history, `past/` the way back.
"""
