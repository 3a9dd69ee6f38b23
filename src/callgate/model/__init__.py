"""The nouns of Callgate: plain values, frozen where nothing is filled in later and making them may take its time.

The clock and randomness are only in `ids`, and only `context` asks the file system: whether a folder lies in another.
"""
