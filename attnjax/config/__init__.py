"""Trees of parts (dataclasses, Linen modules): walk, vary, override, serialize, constraints."""
