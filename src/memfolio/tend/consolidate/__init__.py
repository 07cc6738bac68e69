"""Consolidation: what proved important becomes long-term memory, and what belongs together is summed up."""
