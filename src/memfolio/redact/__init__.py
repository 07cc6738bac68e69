"""Redaction before a text is written or sent: secrets, and personal data if configured."""
