"""The commands below `db`: the tables of PostgreSQL, how they are, and homes that go there and back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memfolio.serve.cli.call import Answer, Options
from memfolio.serve.cli.output import fields_of

if TYPE_CHECKING:
    from memfolio.config import Config
    from memfolio.vault.postgres.carry import Carried


def _config(options: Options, run_as: str | None = None) -> Config:
    """The configuration with the database in it, whatever the store is otherwise."""
    from memfolio.config import load_config

    overrides = {"agent": options.agent, "store": "postgres", "database_user": run_as}
    return load_config(options.home, overrides=overrides)


def db_migrate(options: Options, url: str | None = None, role: str | None = None, run_as: str | None = None) -> Answer:
    from memfolio.vault.postgres.database import migrate
    from memfolio.vault.postgres.server import SERVER, started

    config = _config(options, run_as)
    if url is None and not config.database_url:
        server = started(config.database_folder, config.database_user or None, lambda text: options.tell([text]))
        url, role = server.owner_url, role or SERVER
    before, after = migrate(url or config.database_url, role)
    return Answer({"before": before, "after": after, "role": role})


def db_status(options: Options) -> Answer:
    from memfolio.vault.postgres.database import NEEDED, migrations, store_errors, version_of
    from memfolio.vault.postgres.vault import database_of, find_home, name_of

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
    return Answer(document)


def db_doctor(options: Options) -> Answer:
    from memfolio.serve.cli.trust import findings
    from memfolio.vault.postgres.vault import PostgresVault

    with PostgresVault.of(_existing(options)) as vault:
        return findings(vault.doctor())


def db_vacuum(options: Options, url: str | None = None, run_as: str | None = None) -> Answer:
    from memfolio.vault.postgres.database import rewrite_heap
    from memfolio.vault.postgres.server import started

    config = _config(options, run_as)
    if url is None and not config.database_url:
        url = started(config.database_folder, config.database_user or None).owner_url
    return Answer({"rewritten": rewrite_heap(url or config.database_url)})


def db_export(options: Options, folder: Path) -> Answer:
    from memfolio.vault.postgres.carry import export_home

    config = _existing(options)
    options.wait.start(f"Writing {folder}")
    try:
        done = export_home(config, folder.absolute(), options.wait)
    finally:
        options.wait.stop()
    return _carried(done, folder=folder)


def db_import(options: Options, folder: Path, name: str | None = None) -> Answer:
    from memfolio.vault.postgres.carry import import_home

    config = replace(_config(options), home=folder.absolute())
    options.wait.start(f"Reading {folder}")
    try:
        done = import_home(config, name, options.wait)
    finally:
        options.wait.stop()
    options.tell([f"left out: {each}" for each in done.left_out])
    return _carried(done, folder=folder)


def _existing(options: Options) -> Config:
    from memfolio.errors import HomeMissingError
    from memfolio.vault.postgres.vault import has_home, name_of

    config = _config(options)
    if not has_home(config):
        hint = "`--home NAME` names another; `memfolio db import FOLDER` brings one in"
        raise HomeMissingError(f"the database has no home {name_of(config)}", hint=hint)
    return config


def _carried(done: Carried, folder: Path) -> Answer:
    document: dict[str, Any] = {**fields_of(done), "folder": folder}
    return Answer(document)
