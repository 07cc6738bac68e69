"""Embedders: what turns texts into vectors, so that a memory is found by its meaning.

Start with `embedder.py` (what every embedder promises), then `choose.py` (which one a home uses). `local.py` reads
weights from an installed package, `folder.py` from a folder, `http.py` asks a server, in one of the dialects of
`dialect.py`; `hashed.py` needs none of these.
"""
