"""Procedural memory: skills, workflows and decision trees as pages, their runs, and how well they work."""
