"""The stages of a refinement, independent of one another. Each reads what others produced through `Records`."""
