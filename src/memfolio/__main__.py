"""The same program as `memfolio`, for those who start it with `python -m memfolio`."""

from memfolio.serve.cli import main

main()
