"""A copy of what is known on a TypeDB 3 server: written there best effort, and never read back into files."""
