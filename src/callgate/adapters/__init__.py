"""Adapters: anything that can be a tool becomes a `Tool` value here. They run nothing and know no store or policy."""
