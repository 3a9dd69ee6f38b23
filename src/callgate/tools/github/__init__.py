"""GitHub: files and code of repositories, by its REST API."""

from callgate.tools.category import Category

CATEGORY = Category(extra="web", tools={"github_read": ("httpx2",), "github_search": ("httpx2",)})
