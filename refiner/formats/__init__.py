"""Readers of trace files, one module a format, each with a `FORMAT`. A leading underscore marks a helper."""
