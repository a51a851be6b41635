"""A study: the built-in workload on several devices, at several batch sizes, training and inference, as one matrix."""
