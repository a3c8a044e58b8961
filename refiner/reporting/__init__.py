"""What a refinement shows for itself: the report as a value, the output tree as files. No engine, no database."""
