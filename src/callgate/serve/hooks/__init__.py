"""Hooks: the door through which coding agents ask about their own tools. One short process for each question.

Nothing of the gate is imported before it is needed, and whatever fails is a no.
"""
