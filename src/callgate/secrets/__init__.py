"""Secrets: the root key, where secrets come from, who may ask for one, and striking them out of everything else."""
