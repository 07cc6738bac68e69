"""A home as rows of a PostgreSQL database: the same vault for many servers."""
