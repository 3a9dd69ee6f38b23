"""Archives: looking into zip, tar and 7z, and taking files out of them."""

from callgate.tools.category import Category

CATEGORY = Category(
    extra="archives", tools={"archive_open": (), "archive_extract": (), "archive_file": (), "archive_search": ()}
)
