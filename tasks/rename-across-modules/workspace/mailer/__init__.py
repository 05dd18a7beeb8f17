"""Subscribers of newsletters, and letters to them."""
