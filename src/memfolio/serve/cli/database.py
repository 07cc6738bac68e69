"""The commands below `db`: the tables of PostgreSQL, how they are, and homes that go there and back."""

from __future__ import annotations

import signal
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from memfolio.config import Config, load_config
from memfolio.errors import HomeMissingError, InputError
from memfolio.serve.cli.call import Answer, Options, leave_logging_to_us
from memfolio.serve.cli.output import fields_of
from memfolio.text import counted
from memfolio.vault.postgres.carry import Carried, export_home, import_home
from memfolio.vault.postgres.database import NEEDED, migrate, migrations, rewrite_heap, store_errors, version_of
from memfolio.vault.postgres.jobs import JobQueue
from memfolio.vault.postgres.report import check_heads
from memfolio.vault.postgres.server import SERVER, started
from memfolio.vault.postgres.vault import PostgresVault, database_of, find_home, has_home, name_of

SHOWN = 20
"""How many jobs that were given up are listed."""


def _config(options: Options, run_as: str | None = None) -> Config:
    """The configuration with the database in it, whatever the store is otherwise."""
    overrides = {"agent": options.agent, "store": "postgres", "database_user": run_as}
    return load_config(options.home, overrides=overrides)


def db_migrate(options: Options, url: str | None = None, role: str | None = None, run_as: str | None = None) -> Answer:
    config = _config(options, run_as)
    if url is None and not config.database_url:
        server = started(config.database_folder, config.database_user or None, lambda text: options.tell([text]))
        url, role = server.owner_url, role or SERVER
    before, after = migrate(url or config.database_url, role)
    return Answer({"before": before, "after": after, "role": role})


def db_status(options: Options) -> Answer:
    config = _config(options)
    database = database_of(config)
    with database.lent() as conn, store_errors():
        version, server = version_of(conn), conn.info.server_version
        where = f"{conn.info.host}:{conn.info.port}/{conn.info.dbname}"
        user = conn.info.user
    found = find_home(database, name_of(config))
    changes = None
    if found is not None:
        ((changes,),) = database.ask(found[0], "SELECT seq FROM memfolio.homes WHERE home = %s", [found[0]])
    document = {"database": where, "role": user, "server": f"{server // 10000}.{server % 10000}", "version": version}
    document |= {"needed": NEEDED, "newest": max(migrations()), "home": name_of(config), "changes": changes}
    jobs = JobQueue(database)
    given_up = [
        {"id": job.id, "home": home, "agent": job.agent, "job": job.kind, "attempts": job.attempts, "error": job.error}
        for job, home in jobs.given_up(SHOWN)
    ]
    document |= {"jobs": jobs.status(), "given_up": given_up}
    return Answer(document)


def db_work(options: Options, once: bool = False, heads: Path | None = None) -> Answer:
    from memfolio.serve.work import HomeWorker, WorkDone

    leave_logging_to_us()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the job under way is put back
    count, failed = 0, 0

    def tell(done: WorkDone) -> None:
        nonlocal count, failed
        count, failed = count + 1, failed + bool(done.error)
        if done.error:
            options.tell([f"{done.kind}{' of ' if done.agent else ''}{done.agent} in {done.home}: {done.error}"])

    with suppress(KeyboardInterrupt):
        HomeWorker(_config(options), heads and heads.absolute()).run(tell, once=once)
    return Answer({"done": count, "failed": failed}, [f"{counted(count, 'job')} done, {failed} of them failed"])


def db_retry(options: Options, job: list[int] | None = None) -> Answer:
    count = JobQueue(database_of(_config(options))).retry(job or ())
    return Answer({"retried": count}, [f"{counted(count, 'job')} will be tried again"])


def db_doctor(options: Options, heads: Path | None = None) -> Answer:
    from memfolio.serve.cli.trust import findings

    if heads is not None and not heads.is_file():
        raise InputError(f"there is no file {heads}", hint="name the file that `db work --heads` writes")
    with PostgresVault.of(_existing(options)) as vault:
        return findings([*vault.doctor(), *(check_heads(vault, heads) if heads else ())])


def db_vacuum(options: Options, url: str | None = None, run_as: str | None = None) -> Answer:
    config = _config(options, run_as)
    if url is None and not config.database_url:
        url = started(config.database_folder, config.database_user or None).owner_url
    return Answer({"rewritten": rewrite_heap(url or config.database_url)})


def db_export(options: Options, folder: Path) -> Answer:
    config = _existing(options)
    options.wait.start(f"Writing {folder}")
    try:
        done = export_home(config, folder.absolute(), options.wait)
    finally:
        options.wait.stop()
    return _carried(done, folder, str(folder))


def db_import(options: Options, folder: Path, name: str | None = None) -> Answer:
    config = _config(replace(options, home=str(folder.absolute())))
    options.wait.start(f"Reading {folder}")
    try:
        done = import_home(config, name, options.wait)
    finally:
        options.wait.stop()
    options.tell([f"left out: {each}" for each in done.left_out])
    return _carried(done, folder, "the database")


def _existing(options: Options) -> Config:
    config = _config(options)
    if not has_home(config):
        hint = "`--home NAME` names another; `memfolio db import FOLDER` brings one in"
        raise HomeMissingError(f"the database has no home {name_of(config)}", hint=hint)
    return config


def _carried(done: Carried, folder: Path, where: str) -> Answer:
    document: dict[str, Any] = {**fields_of(done), "folder": folder}
    line = f"{done.name}: {counted(done.files, 'file')}, {counted(done.changes, 'change')} in {where}"
    return Answer(document, [line])
