"""Ways to run steps. No stage logic, no store."""
