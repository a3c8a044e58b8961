"""Benches: what the product finds and what it costs, measured against a named alternative in one run. Never a test."""
