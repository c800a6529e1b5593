"""One table with odd rows inside; it stands above the descriptions."""
