"""Events: the chained log, the bus, and the evidence made from them. Knows no store's insides."""
