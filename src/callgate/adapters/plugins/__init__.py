"""Plugins: folders with a `manifest.json` and Python code beside it, as one source of tools."""
