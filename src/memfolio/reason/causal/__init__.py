"""Causes and effects: one method a file, each with a function `reason`."""
