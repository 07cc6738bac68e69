"""Surfaces: how people and other programs reach a memory. They are thin; what they can do is in the rooms below."""
