"""One module for each method of reasoning, loaded when it is used."""
