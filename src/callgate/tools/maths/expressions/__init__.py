"""The expression language of all maths tools: text is read into a small tree, and only that tree is ever run.

`reading` makes the tree from Python's syntax and refuses what the language does not have, `compiling` turns it into
functions over numbers and NumPy arrays, `symbols` into SymPy. No text of a user is evaluated, compiled or looked up.
"""
