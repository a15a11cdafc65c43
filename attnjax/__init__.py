"""Attention mechanisms as pure functions and pure Flax modules, and the papers' ablations of them.

Glossary. Shapes in docstrings and einsum strings use these letters, and only with these meanings:

    B   batch: sentences (or images, sets) at a time
    T   query length: positions that attend
    S   key length: positions that are attended to
    H   heads
    D   model width
    K   key width, of one head (the d_k of Vaswani et al. 2017)
    V   value width, of one head; on logits of a language model, the number of symbols
    F   feed-forward width

Arrays are `[..., T, K]`, heads a leading axis: `[B, H, T, K]`. A mask is True where a query may
attend. Importing this package starts nothing: no device, no network.
"""
