"""Digests: what weeks, months and quarters were about, as pages that are kept up with their days."""
