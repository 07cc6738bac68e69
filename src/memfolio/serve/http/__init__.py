"""The HTTP door: typed routes for programs with a token."""
