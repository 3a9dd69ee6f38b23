"""Registry files: tools that a YAML or a JSON file lists, and whose code is elsewhere."""
