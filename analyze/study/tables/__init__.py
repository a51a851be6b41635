"""A study's tables: one question each, cells in, frame out."""
