"""Many agents in one home: who they are, what each may read, and how they are told of their memory."""
