"""The browser station: a page that shows, flies and changes a running simulation."""
