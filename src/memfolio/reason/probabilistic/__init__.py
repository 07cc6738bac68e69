"""Chances and what to do about them: one method a file, each with a function `reason`."""
