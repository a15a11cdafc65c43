"""Decoding: greedy and beam search, written once over any decoder's start and step."""
