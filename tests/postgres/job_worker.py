"""A worker for tests that kill it: does what is due, with one more job in the table that ends the process or hangs."""

from __future__ import annotations

import os
import signal
import sys
import time

from memfolio.config import load_config
from memfolio.tend import tend

BAD = "bad"


def end(context: tend.JobContext) -> str:
    os.kill(os.getpid(), signal.SIGKILL)
    return ""


def hang(context: tend.JobContext) -> str:
    sys.stdout.write("hanging\n")
    sys.stdout.flush()
    time.sleep(600)
    return ""


def main(how: str) -> None:
    tend.JOBS = (  # type: ignore[assignment]
        tend.Job(BAD, tend.ALWAYS, {"end": end, "hang": hang}[how], "what goes wrong"),
        *tend.JOBS,
    )
    from memfolio.serve.work import HomeWorker

    HomeWorker(load_config()).run(lambda done: None, once=True)


if __name__ == "__main__":
    main(sys.argv[1])
