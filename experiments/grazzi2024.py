"""Does tracking a parity need negative eigenvalues?  Grazzi et al. 2024, in small.

Of a string of 0s and 1s the state needs one bit, and a 1 turns it round. A linear recurrence whose
matrices have eigenvalues from 0 to 1 alone cannot do that at every length (theorem 1); the delta
rule's matrix I - b k k^T has the eigenvalue 1 - b along k, which is -1 at b = 2. Grazzi et al. train
on lengths 3 to 40, with the label at the last symbol, and test on 40 to 256: what has negative
eigenvalues, or is no linear recurrence, learns parity, and nothing else does (Table 2).

Here the same lengths are trained and tested (every twelfth beyond 40), of the same strings, anew
for every update. Reduced are the width, of 128 to 64, the updates, of 20,000 with 256 strings to
3,000 with 64, and the number of networks: theirs have a convolution of a few symbols before each
recurrence, ours have none, and Mamba is the state-space layer of Mamba-2, with decays from 0 to 1.
A shape, not the paper's setting. All networks have two layers, and the same rate.

    attnjax run grazzi2024
"""

from attnjax.attention import (
    AttentionBase,
    DecayedState,
    DeltaRule,
    MultiHead,
    NoPosition,
    Rotary,
    ScaledDot,
    WordDecay,
)
