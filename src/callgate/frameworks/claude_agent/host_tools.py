"""What the host's own tools do, as the gate declares them for every door."""

from callgate.runtime.host_tools import HOST_NAMES, host_tools

__all__ = ["HOST_NAMES", "host_tools"]
