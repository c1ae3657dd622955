"""What is kept on disk between two runs."""
