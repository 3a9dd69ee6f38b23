"""Credentials: who may come in at a network door. Tokens, passwords and visits; knows no door and no policy."""
