"""One table of verbs: what a memory can do, and what every door offers of it."""
