"""A mirror of the knowledge on a TypeDB 3 server: written best effort, and never read back into files."""
