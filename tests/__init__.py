"""The suites: house rules, contracts, journeys, doors."""
