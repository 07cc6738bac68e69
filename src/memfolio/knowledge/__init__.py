"""What is known as facts, and what follows from it: facts, rules, inference, cases, ontology, mirrors."""
