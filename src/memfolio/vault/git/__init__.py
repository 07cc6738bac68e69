"""The history of a home in git: commits from given bytes, without the index, never touching a person's own work."""
