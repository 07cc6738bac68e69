"""What an agent knows how to do: skills, workflows and decision trees as pages, how they are run, and how they went."""
