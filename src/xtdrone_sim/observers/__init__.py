"""What watches a flight and changes nothing of it: crashes, figures, laps, recordings."""
