"""Threads: lines of thought that an agent keeps for its user, entry by entry, and finds again."""

from callgate.tools.category import Category

CATEGORY = Category(
    tools={"thread_push": (), "thread_read": (), "thread_seek": (), "thread_list": ()},
)
