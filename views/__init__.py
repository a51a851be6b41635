"""Pages of the app, one per file; what surrounds them is in `shell`."""
