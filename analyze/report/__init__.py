"""Formats a finished Report: text, JSON, HTML, Perfetto, charts. Nothing here computes."""
