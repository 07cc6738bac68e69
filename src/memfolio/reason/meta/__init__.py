"""Reasoning about reasoning: one method a file, each with a function `reason`."""
