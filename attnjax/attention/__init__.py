"""The mathematics: score, align, pool; masks, positions, heads. Imports jax and flax only."""
