"""The screens: one file a page, run by `app.py`. They ask the workspace for a value and draw it, nothing else."""
