"""One typed table per file, built from the families that ingest hands over."""
