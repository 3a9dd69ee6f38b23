"""Built-in tools: one package per category, each knowing nothing of the others. `catalogue` says which there are."""
