"""What the commands share: options and their settings, what is printed, and exit statuses."""
