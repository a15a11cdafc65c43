"""The four symbols every vocabulary starts with."""

PAD, START, END, UNKNOWN = 0, 1, 2, 3
