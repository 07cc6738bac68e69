"""Reasoning: the methods, a router that picks one for a problem, and the fusion of several results."""
