"""An agent's identity, beliefs, desires and intentions: nine pages that people read and edit, and their upkeep."""
