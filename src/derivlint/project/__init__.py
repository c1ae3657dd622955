"""What a run needs to know beside the rules: configuration, files, operators, and checking one file with them."""
