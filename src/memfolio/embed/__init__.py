"""Embedders: what turns texts into vectors, so that a memory is found by its meaning.

Start with `embedder.py` (what every embedder promises), then `choose.py` (which one a home uses). `local.py` reads
weights from an installed package or a folder, `http.py` asks a server through `post.py`. `vectorizer.py` makes the
vectors of questions and memories with whichever it is.
"""
