"""The web page on loopback where the owner browses, decides and undoes."""

PAGES = ("review", "memories", "history", "core", "things", "knowledge", "mind", "health")
