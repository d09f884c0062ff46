"""Running systems under test: on datasets, live, in campaigns."""
