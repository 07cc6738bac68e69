"""The knowledge base of an agent: facts, rules, inference, cases, an ontology, and a copy on TypeDB."""
