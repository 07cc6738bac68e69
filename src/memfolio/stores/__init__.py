"""What is remembered, and how it changes after it was made."""
