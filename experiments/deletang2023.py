"""Which networks learn a regular language at any length?  Deletang et al. 2023, in small.

Parity, even pairs, a walk on a circle and arithmetic without brackets need a few states, whatever
the length. Deletang et al. train on strings of 1 to 40 symbols, and score the mean accuracy over
the lengths 41 to 500 (Table 2): an LSTM solves all four, the best of 50 Transformers with each of
five positions is near chance but for even pairs, whose label depends on two symbols alone.

The tasks, the lengths of training, the encoder (five post-norm layers of width 64 with 8 heads,
the label read from an empty symbol after the string) and the score are theirs. Reduced are the
updates, of 1,000,000 with 128 strings each to 4,000 with 64, the rates, of three to one, the seeds,
of ten to three, and the lengths that are tested, to every twelfth up to 256. A shape, not the
paper's setting. Strings are drawn anew for every update; those of a batch have different lengths
and are padded, there all have the same. The relative positions are those of Shaw et al. 2018, there
Transformer-XL's. The LSTM is one pre-norm layer of width 64, with a feed-forward network after it,
there one of width 256 without.
"""
