"""Selection of the findings to show, by settings, comments, baselines and changes."""
