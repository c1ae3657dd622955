"""The language server. It publishes the diagnostics of the command line, computed by the same checks.

Terms, each with its module:

- server (``server``): routes the requests of the protocol to features (``requests``)
- session (``session``): the open files, and the thread that checks them
- project (``workspace``): the settings, rules and operators that a file is checked with
- document analysis (``analysis``): the model of the last valid text of a file
- code action (``code_actions``): a fix of a finding, or a change of an entry
- feature (``features``): a function of an analysis and an offset, without protocol
- position mapper (``position_mapper``): converts offsets of the analysis to positions of the protocol (``documents``)
"""
