"""People, things and how they are related, kept as pages."""
