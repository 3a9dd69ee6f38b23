"""Files: reading, writing, listing and searching files where the policy allows."""

from callgate.tools.category import Category

CATEGORY = Category(extra="files", tools={})
