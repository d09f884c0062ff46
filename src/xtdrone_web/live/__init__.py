"""The process of the page beside a running simulation."""
