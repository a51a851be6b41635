"""Speed, memory, overhead and accuracy measurements; results land in benchmarks/results/ as text."""
