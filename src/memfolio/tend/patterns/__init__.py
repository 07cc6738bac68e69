"""Patterns: what comes up at certain times, what follows what, and what is said again and again."""
