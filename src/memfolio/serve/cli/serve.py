"""The command `serve`: the door for programs, over HTTP."""

from __future__ import annotations

from typing import Annotated

import typer

from memfolio.errors import MemfolioError
from memfolio.serve.cli.call import Answer, Command, Options, in_empty_folder, leave_logging_to_us
from memfolio.serve.cli.output import Screen

INSTALL = "pip install 'memfolio[http]'"
Host = Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Where to listen.")]
Port = Annotated[
    int, typer.Option("--port", metavar="N", min=0, max=65535, help="Where to listen; 0 takes a free one.")
]
Hosts = Annotated[
    list[str] | None,
    typer.Option("--allow-host", metavar="NAME", help="A further name of this server. May be repeated."),
]
Origins = Annotated[
    list[str] | None,
    typer.Option("--allow-origin", metavar="ORIGIN", help="Pages that may ask here. May be repeated."),
]


def serve(
    options: Options,
    host: Host = "127.0.0.1",
    port: Port = 8765,
    allow_host: Hosts = None,
    allow_origin: Origins = None,
) -> Answer:
    """Serve the memories of a home over HTTP, to whoever has a token, until it is stopped."""
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


COMMANDS = (Command(serve, "serve", "--home ~/memfolio serve --port 8080"),)
