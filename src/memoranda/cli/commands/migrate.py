"""The command that migrates a file or a PostgreSQL database."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memoranda.cli.options import Target, takes_store
from memoranda.cli.output import note, safe, write_json
from memoranda.cli.progress import meter

if TYPE_CHECKING:
    from memoranda.sdk.migration import MigrationPlan


@click.command()
@click.option("--plan", "plan_only", is_flag=True, help="Show what would be done, and do nothing.")
@takes_store
def migrate(target: Target, *, plan_only: bool) -> None:
    """Bring a store to the format of this version.

    Opening a file does so, too. A PostgreSQL database is migrated only by this command, all its
    stores at once: upgrade the programs that use it first, and name it without ?store=. Programs
    of an older version are refused from then on. If two migrate at once, one waits for the other.
    A newer format than that of this version is refused.
    """
    from memoranda.sdk.migration import migrate as migrate_store
    from memoranda.sdk.migration import plan_migration

    if plan_only:
        plan = plan_migration(target.location)
    else:
        with meter("Migrating") as progress:
            plan = migrate_store(target.location, progress)
    if target.as_json:
        write_json(plan)
        return
    _write(plan, plan_only=plan_only)


def _write(plan: MigrationPlan, *, plan_only: bool) -> None:
    name = safe(plan.store)
    if plan.is_empty:
        click.echo(f"{name} has format {plan.format}, that of this version: nothing to do.")
        return
    verb = "Would bring" if plan_only else "Brought"
    click.echo(f"{verb} {name} from format {plan.format} to format {plan.target}:")
    for step in plan.steps:
        click.echo(f"  {step.format}  {safe(step.description)}")
    if plan.views:
        note(f"views built again from the log: {', '.join(plan.views)}")
