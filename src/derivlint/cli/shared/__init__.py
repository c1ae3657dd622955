"""Code shared by the commands.

Terms: resolved inputs (``inputs``): the files of a command line with their settings; loaded file (``loading``): its
model and operators; output options (``output``); terminal (``terminal``): all printing, and exit statuses.
"""
