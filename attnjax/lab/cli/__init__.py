"""The command line, program `attnjax`. It exports nothing: `attnjax` has the calls."""
