"""Web: fetching and searching, by http and https only."""

from callgate.tools.category import Category

CATEGORY = Category(
    extra="web",
    tools={
        "http_get": ("httpx2",),
        "http_post": ("httpx2",),
        "web_search": ("httpx2", "selectolax"),
        "fetch_wikipedia": ("httpx2",),
        "fetch_docs": ("httpx2", "trafilatura", "selectolax"),
        "web_fetch": ("httpx2", "trafilatura", "selectolax"),
    },
)
