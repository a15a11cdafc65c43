"""What an experiment came to: a table for the terminal, a page with figures for everyone else."""
