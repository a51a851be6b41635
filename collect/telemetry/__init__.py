"""Telemetry of the host and its devices, sampled by a process of its own."""
