"""The nouns of Callgate: plain, frozen values. No I/O; the clock and randomness only in `ids`."""
