"""Findings: what a detector says, and the detectors themselves."""
