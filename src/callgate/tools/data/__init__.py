"""Data: JSON, CSV, SQL, plots and formulas; all of it in memory."""

from callgate.tools.category import Category

CATEGORY = Category(extra="data", tools={"json_parse": (), "json_query": ("jmespath",)})
