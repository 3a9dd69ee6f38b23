"""The HTTP API: everything the gate can, as JSON under `/api/v1`, for agents and for people."""
