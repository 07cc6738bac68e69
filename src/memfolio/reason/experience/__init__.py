"""What was seen before: one method a file, each with a function `reason`."""
