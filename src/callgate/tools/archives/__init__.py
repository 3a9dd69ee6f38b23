"""Archives: zip, tar and 7z."""

from callgate.tools.category import Category

CATEGORY = Category(extra="archives", tools={})
