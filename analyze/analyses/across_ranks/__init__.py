"""Analyses that compare ranks: inputs are the per-rank results stacked with a `rank` column."""
