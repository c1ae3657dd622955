"""What is left of the findings of a file: settings, comments, baselines and changes."""
