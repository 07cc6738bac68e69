"""Storing memories, and changing them afterwards."""
