"""What came out: tables, means with their intervals, folders that keep them, and words."""
