"""Events: the chained journal, the bus, and the evidence made from them. Knows no store's insides."""
