"""Chain: a text of assignments and calls, read, put into waves, and made. The text is never evaluated as Python."""
