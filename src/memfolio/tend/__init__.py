"""Maintenance of a home: scheduled jobs, whose changes go through the one writer."""
