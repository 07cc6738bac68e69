"""Reflection: an agent looks through what it remembers and proposes what should change; a person disposes."""
