"""Projections: what the events add up to, kept for looking up, and to be thrown away and made again at any time."""

from callgate.events.projections.catch_up import PROJECTIONS, catch_up, forget, rebuild, refresh

__all__ = ["PROJECTIONS", "catch_up", "forget", "rebuild", "refresh"]
