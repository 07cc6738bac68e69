"""What is taken out of a text before it is written or sent: secrets, and personal data where that is wished."""
