"""What is asked: the query as given, and what it is understood to mean."""
