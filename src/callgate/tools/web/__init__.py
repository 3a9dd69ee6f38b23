"""Web: fetching and searching, by http and https only."""

from callgate.tools.category import Category

CATEGORY = Category(extra="web", tools={})
