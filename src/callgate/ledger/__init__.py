"""The ledger: at most once per key, and honest about what is not known. Pure; a store keeps the rows."""
