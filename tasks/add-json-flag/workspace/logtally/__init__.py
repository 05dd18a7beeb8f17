"""Counts the entries of log files by level."""
