"""From candidates to an order: what speaks for each memory."""
