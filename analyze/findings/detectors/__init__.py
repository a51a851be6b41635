"""One bottleneck per file; each file holds DETECTOR and detect(). The engine finds them by walking this package."""
