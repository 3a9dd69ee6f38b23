"""Flows: calls put together. Every call inside is an ordinary governed call."""
