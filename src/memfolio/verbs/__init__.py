"""The one table of verbs: everything a memory can do, from which every door is derived."""
