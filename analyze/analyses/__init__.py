"""One question per file: frames in, frame out."""
