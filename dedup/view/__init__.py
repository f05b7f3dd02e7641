"""What a process knows of all stored pages, in memory, to look at."""
