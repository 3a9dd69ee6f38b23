"""Notices: what an agent leaves for itself, handed to it when it goes on."""

from callgate.tools.category import Category

CATEGORY = Category(tools={"notify_self": ()})
