"""Hooks: what a host's agent is told and what is learned from it, without the agent having to ask."""
