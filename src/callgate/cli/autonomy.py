"""The option that says how much may be done without asking. Hooks have it too, so it knows no gate."""

from __future__ import annotations

import click

from callgate.model.levels import Autonomy

LEVELS = click.Choice(list(Autonomy.__members__))
autonomy_option = click.option(
    "--autonomy", type=LEVELS, help="How much may be done without asking; the configuration's when left out."
)
