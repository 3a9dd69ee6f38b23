"""The console: pages for the people who answer for agents. Rendered here, live by events, nothing fetched elsewhere."""
