"""Attention that keeps a state of constant size: feature maps, decays, one algorithm in chunks."""
