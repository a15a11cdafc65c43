"""The command line, program `attnjax`. It exports nothing: `attnjax.runs` has the library calls."""
