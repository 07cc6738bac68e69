"""Proposals: changes that wait for somebody's leave, one file each."""
