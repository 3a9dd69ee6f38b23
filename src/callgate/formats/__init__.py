"""Formats: what providers write and read, as pure functions both ways. No SDK, no I/O, and none knows another."""
