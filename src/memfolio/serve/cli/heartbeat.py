"""The command that runs one cycle over the mind of an agent, or of every one."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from memfolio.serve.cli.call import Answer, Options
from memfolio.serve.cli.output import Screen
from memfolio.text import counted

if TYPE_CHECKING:
    from memfolio.mind.heartbeat import BdiCycleResult


def heartbeat(options: Options, every_agent: bool = False, dry_run: bool = False) -> Answer:
    with options.memory() as memory:
        agents = [each.id for each in memory.agents.list() if not each.settings.retired] if every_agent else []
        results = [] if every_agent else [memory.heartbeat(dry_run=dry_run)]
    for agent in agents:
        with replace(options, agent=agent).memory() as memory:
            results.append(memory.heartbeat(dry_run=dry_run))

    def draw(screen: Screen) -> None:
        for result in results:
            screen.diff(result.diff if dry_run else "")
            screen.say(_told(result), "bold")
            for line in (*result.notes, *result.problems):
                screen.say(line, "yellow")

    return Answer({"cycles": [*map(asdict, results)], "dry_run": dry_run}, draw)


def _told(result: BdiCycleResult) -> str:
    return (
        f"{result.agent_id}: {counted(result.belief_count, 'belief')}, {result.beliefs_fed} of them fed by facts, "
        f"{counted(result.conflicts_detected, 'conflict')}; {counted(result.stale_intentions_pruned, 'intention')} "
        f"let go of; {result.desires_moved} of {counted(result.desire_count, 'desire')} moved"
        f"{result.digest and f'; {result.digest}'}"
    )
