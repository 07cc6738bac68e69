"""The commands `service install`, `service uninstall` and `service status`: having the system tend a home."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from memfolio.errors import NotFoundError
from memfolio.serve.cli.call import Answer, Options, anywhere
from memfolio.serve.cli.output import Screen

if TYPE_CHECKING:
    from memfolio.serve.service import Schedule

LINGER = "loginctl enable-linger lets it run while you are not logged in"


def service_install(options: Options, platform: str | None = None, dry_run: bool = False) -> Answer:
    from memfolio.serve import service as services

    home = options.config().home
    scheduler = platform or services.usual_platform()
    service = services.service_of(scheduler, home, services.tend_command(home), is_plan=dry_run)
    if dry_run:
        return Answer(document(service), lambda screen: draw_plan(screen, service))
    written = services.install(service)
    changed = any(written.values()) if service.files else bool(service.start)

    def draw(screen: Screen) -> None:
        for path, is_new in written.items():
            screen.say(f"{path} {'written' if is_new else 'unchanged'}", "" if is_new else "dim")
        screen.say(f"{service.platform} runs {service.name} every half hour{'' if changed else ', as before'}", "bold")
        if service.platform == "systemd":
            screen.say(LINGER, "dim")

    return Answer(document(service) | {"changed": changed}, draw)


def service_uninstall(options: Options, platform: str | None = None, dry_run: bool = False) -> Answer:
    from memfolio.serve import service as services

    installed = [each for each in known(options, platform) if services.look(each).is_installed]
    if not dry_run:
        for service in installed:
            services.uninstall(service)

    def draw(screen: Screen) -> None:
        for service in installed:
            screen.say(f"{service.platform} {'would let' if dry_run else 'lets'} go of {service.name}", "bold")
        if not installed:
            screen.say("nothing is installed for this home")

    return Answer({"uninstalled": list(map(document, installed))}, draw)


def service_status(options: Options, platform: str | None = None) -> Answer:
    from memfolio.serve import service as services

    found = [(service, services.look(service)) for service in known(options, platform)]
    rows = [
        (service.platform, service.name, *map(said, (how.is_installed, how.is_current, how.is_active)))
        for service, how in found
    ]
    return Answer(
        {
            "services": [
                {"platform": service.platform, "name": service.name}
                | {"installed": how.is_installed, "current": how.is_current, "active": how.is_active}
                for service, how in found
            ]
        },
        lambda screen: screen.table(("platform", "name", "installed", "current", "active"), rows),
    )


def said(value: bool) -> str:
    return "yes" if value else "no"


def known(options: Options, platform: str | None) -> Iterable[Schedule]:
    """The services that this home may have on this system; also of a home that is gone."""
    from memfolio.serve import service as services

    home = options.config(create=anywhere).home
    command = services.tend_command(home)
    for each in [platform] if platform else services.own_platforms():
        try:
            yield services.service_of(each, home, command)
        except NotFoundError:
            if platform:
                raise


def document(service: Schedule) -> dict[str, Any]:
    """A service for programs."""
    return {
        "platform": service.platform,
        "name": service.name,
        "files": [{"path": str(path), "text": text_of(data)} for path, data in service.files.items()],
        "line": service.line,
        "commands": [list(step.command) for step in service.start],
    }


def draw_plan(screen: Screen, service: Schedule) -> None:
    for path, data in service.files.items():
        screen.say(str(path), "bold")
        screen.say(text_of(data))
    if service.line:
        screen.say(f"{service.line}\n")
    for step in service.start:
        screen.say(f"then {step}", "dim")


def text_of(data: bytes) -> str:
    return data.decode("utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8")
