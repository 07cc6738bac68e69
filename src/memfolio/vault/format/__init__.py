"""How files are written and read: the entry, the daily log, hand-written notes, JSON lines. Pure."""
