"""The words in which facts are told: classes, properties and business rules, as JSON-LD pages."""
