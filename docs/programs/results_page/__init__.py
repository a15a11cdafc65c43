"""The project's page of results: its text, its pictures, and what README repeats of it."""
