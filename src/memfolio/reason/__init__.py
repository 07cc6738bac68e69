"""How problems are thought through: methods, which of them fits a problem, and what several of them say together."""
