"""Conversations that are over: what is learned from them, and the page that tells of each."""
