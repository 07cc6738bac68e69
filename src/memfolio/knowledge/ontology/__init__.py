"""The vocabulary of facts: classes, properties and business rules, as JSON-LD pages."""
