"""Trees: leaves of behaviour trees that call tools. Nothing here loads py_trees but `board`, `leaf` and `runner`."""
