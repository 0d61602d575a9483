"""What is run: a file, a text or a dictionary, read and checked; and which mechanisms there are."""
