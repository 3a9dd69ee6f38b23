"""Vault: Markdown notes with front matter and links between them, in plain files that a person can open as well."""

from callgate.tools.category import Category

CATEGORY = Category(
    tools={
        "vault_read": (),
        "vault_write": (),
        "vault_search": (),
        "vault_list": (),
        "vault_move": (),
        "vault_create_index": (),
    },
)
