"""Where everything is remembered: one port, several stores, one contract suite. No store knows another."""
