"""The store that forgets with its process, held to the same contract as the ones that do not."""

from callgate.stores.memory.store import MemoryStore

__all__ = ["MemoryStore"]
