"""The registry: which tools there are, whether they are trusted and healthy, and how to find them."""
