"""Tasks whose examples a generator draws; the same fields give the same examples."""
