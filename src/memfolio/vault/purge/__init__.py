"""Purge: destroying every byte of memories, in files, history and caches, and proving that none is left."""
