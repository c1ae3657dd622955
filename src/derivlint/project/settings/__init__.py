"""Configuration: ``[tool.derivlint]``, ``derivlint.toml``, and the options that override them.

Read :mod:`derivlint.project.settings.settings` first; ``keys`` lists every key with its type and help.
"""

from derivlint.project.settings.document import ConfigurationError, SettingsMistake
from derivlint.project.settings.lookup import OWN_FILE, PYPROJECT, SettingsOfFiles, find_settings
from derivlint.project.settings.selection import unknown_rule
from derivlint.project.settings.settings import Settings

__all__ = [
    "OWN_FILE",
    "PYPROJECT",
    "ConfigurationError",
    "Settings",
    "SettingsMistake",
    "SettingsOfFiles",
    "find_settings",
    "unknown_rule",
]
