"""Programs: a model's Python in a sandbox whose only way out is a call. Knows how to make one call, and no gate."""
