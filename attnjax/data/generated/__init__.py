"""Tasks whose examples are generated: sequences, dates, images of shapes, points of a function."""
