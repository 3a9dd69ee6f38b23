"""Signing in at a server over HTTP: by a person or a machine, kept with the secrets, renewed, and shown to nobody else.

The SDK finds the authorization server, registers, and makes the requests; here is who may be asked, and what is kept.
"""
