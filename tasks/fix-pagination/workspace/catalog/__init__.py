"""Product listings."""
