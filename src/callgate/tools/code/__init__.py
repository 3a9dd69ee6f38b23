"""Code: running and looking at code, kept apart from everything else."""

from callgate.tools.category import Category

CATEGORY = Category(extra="code", tools={})
