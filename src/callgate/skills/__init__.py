"""Skills: named compositions of tools that can use the tools they declare, and no others."""
