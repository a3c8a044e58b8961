"""Installed skills: versions beside them, installing over hand edits, rollback, merges. No database, no screen."""
