"""Toolkits: classes whose methods become tools, one by one or as a source."""
