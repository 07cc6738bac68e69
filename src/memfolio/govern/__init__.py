"""Governance: who may change what, and what waits for approval."""
