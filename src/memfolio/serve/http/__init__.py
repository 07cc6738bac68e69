"""The door for programs: typed routes over HTTP, for whoever has a token."""
