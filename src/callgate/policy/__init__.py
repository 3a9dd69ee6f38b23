"""Policy: who may do what, and which risk asks for which answer. Pure: knows no store, no event, runs no tool."""
