"""Measuring: how much of what is asked for is found, and how quickly; each figure beside its floor."""
