"""Telling a host of memfolio: its settings are edited in place, and given back as they were."""
