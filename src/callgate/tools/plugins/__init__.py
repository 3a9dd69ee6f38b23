"""Plugins: loading the plugins of the gate again."""

from callgate.tools.category import Category

CATEGORY = Category(tools={"reload_plugins": ()})
