"""The index of a home: derived from the files, disposable, rebuilt at any time."""
