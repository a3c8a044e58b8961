"""Who reads evidence and puts it into words. One folder or file an analyst; no store, no engine."""
