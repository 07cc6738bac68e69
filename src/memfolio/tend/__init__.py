"""Looking after a home: what is due by the clock, as changes that the one writer makes."""
