"""The history of a home in git: commits from given bytes, past the index, never touching what a person is doing."""
