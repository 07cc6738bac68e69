"""Looking back and going back: the log, differences, undo, rollback, verify."""
