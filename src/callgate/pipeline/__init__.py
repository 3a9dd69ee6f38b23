"""The way of a call. `pipeline.py` is the spine; each step is a file. Permits never leave this room."""
