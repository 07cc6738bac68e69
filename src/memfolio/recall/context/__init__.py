"""What an agent should have before its eyes: hits packed into a fenced block."""
