"""What an agent is, believes, wants and has taken on: nine pages that a person reads and edits, and what keeps them."""
