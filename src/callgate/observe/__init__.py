"""Observe: what operators' own systems are told of a gate. Metrics and spans; nothing here can stop or slow a call."""
