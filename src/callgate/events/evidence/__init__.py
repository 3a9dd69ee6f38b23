"""Evidence: a part of the record or all of it, packed so that anyone can verify it without the store or its keys."""

from callgate.events.evidence.check import verify_evidence
from callgate.events.evidence.export import export

__all__ = ["export", "verify_evidence"]
