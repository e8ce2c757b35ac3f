"""Several nodes on Redis under load, while what they stand on fails."""
