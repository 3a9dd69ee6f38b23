"""Maths: numbers, statistics, matrices, equations."""

from callgate.tools.category import Category

CATEGORY = Category(extra="maths", tools={})
