"""The composition root: the only room that knows which store, policy and tools a gate is made of."""
