"""Policy: who may do what, and which risk asks for which answer. Knows no store, no event, runs no tool.

All it reads is where paths lead: links, folders, and the files by which git says where its own are.
"""
