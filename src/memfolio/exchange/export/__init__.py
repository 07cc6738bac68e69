"""Memories that go elsewhere: what is exported, of one moment, and one small module for each form."""
