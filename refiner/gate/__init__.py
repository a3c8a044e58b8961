"""The evidence gate: what counting can decide, and how its answers combine with an analyst's."""
