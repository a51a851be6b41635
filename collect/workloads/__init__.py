"""Built-in training jobs: what `python -m collect` records when no script is given. One per file."""
