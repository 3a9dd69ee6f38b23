"""What this category offers."""

from __future__ import annotations

from typing import Any

from callgate.settings.values import BuiltinToolsSettings
from callgate.tools.data.csv_tools import csv_to_json, json_to_csv
from callgate.tools.data.json_tools import json_parse, json_query
from callgate.tools.data.math_tool import render_math
from callgate.tools.data.plot_tools import histogram, plot_braille, plot_function
from callgate.tools.data.sixel_tool import plot_sixel
from callgate.tools.data.sql_tool import sql_query
from callgate.tools.services import NOTHING, Services, lending


@lending
def make(_: BuiltinToolsSettings, _services: Services = NOTHING) -> list[Any]:
    """Its tools."""
    return [
        csv_to_json,
        histogram,
        json_parse,
        json_query,
        json_to_csv,
        plot_braille,
        plot_function,
        plot_sixel,
        render_math,
        sql_query,
    ]
