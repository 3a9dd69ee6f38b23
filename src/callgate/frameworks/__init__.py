"""Ready-made ends: agent frameworks and model SDKs whose every tool call goes through a gate. Each needs its extra."""
