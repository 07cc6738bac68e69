"""What texts say: statements worth keeping, people and things, relations and causes. Pure but for the model."""
