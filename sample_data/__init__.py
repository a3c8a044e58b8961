"""The sample corpus: its data files, and in `generator` the program that executed the runs."""
