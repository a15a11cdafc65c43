"""The laboratory: experiments are run, kept, judged, shown and opened again.

No module outside imports it: the library is usable alone, in a training loop of one's own.
"""
