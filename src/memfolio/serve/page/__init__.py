"""The page on loopback where the owner looks, decides and takes back."""

PAGES = ("review", "memories", "history", "core", "things", "knowledge", "mind", "health")
