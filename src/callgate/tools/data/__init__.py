"""Data: JSON, CSV, SQL, plots and formulas; all of it in memory."""

from callgate.tools.category import Category

CATEGORY = Category(
    extra="data",
    tools={
        "csv_to_json": (),
        "histogram": (),
        "json_parse": (),
        "json_query": ("jmespath",),
        "json_to_csv": (),
        "plot_braille": (),
        "plot_function": (),
        "plot_sixel": ("PIL",),
        "render_math": ("texicode",),
        "sql_query": (),
    },
)
