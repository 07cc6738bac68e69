"""The command `serve`: the door for programs, over HTTP."""

from __future__ import annotations

from memfolio.errors import MemfolioError
from memfolio.serve.cli.call import Answer, Options, in_empty_folder, leave_logging_to_us
from memfolio.serve.cli.output import Screen

INSTALL = "pip install 'memfolio[http]'"


def serve(
    options: Options,
    host: str = "127.0.0.1",
    port: int = 8765,
    allow_host: list[str] | None = None,
    allow_origin: list[str] | None = None,
) -> Answer:
    config = options.config(create=in_empty_folder)
    leave_logging_to_us()
    try:
        from memfolio.serve.http.app import build
        from memfolio.serve.http.gate import ServerNames
        from memfolio.serve.http.server import Limits, address, listen, run, server_of
    except ImportError as error:
        raise MemfolioError("the libraries of the server are not installed", hint=INSTALL) from error
    limits, names = Limits(), ServerNames(hosts=[host, *(allow_host or ())], origins=allow_origin or ())
    with listen(host, port) as door:
        app = build(config, limits, names)
        Screen(errors=True).say(f"{address(door)} serves {config.home}; Ctrl-C ends it")
        run(server_of(app, limits, app.state.hall.end_streams), door)
    return Answer({}, lambda screen: None)
