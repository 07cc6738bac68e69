"""Several who want or say different things: one method a file, each with a function `reason`."""
