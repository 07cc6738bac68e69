"""Reading texts: statements worth keeping, entities, relations and causes. Pure, except for the model."""
