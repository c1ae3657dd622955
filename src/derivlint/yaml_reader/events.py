"""The two engines: libyaml through ruamel.yaml's C extension, and ruamel.yaml's own scanner where there is none."""

from __future__ import annotations

from typing import Any, Protocol, cast


class EventSource(Protocol):
    """A YAML parser that hands out one event after the other, then None."""

    def get_event(self) -> Any:
        """The next event.

        Raises:
            ruamel.yaml.error.YAMLError: the text is not YAML.
        """


def open_events(text: str, *, pure: bool) -> EventSource:
    """A parser of ``text``, in C unless ``pure`` or where the C extension is not installed."""
    if not pure:
        try:
            from _ruamel_yaml import CParser  # type: ignore[import-not-found]
        except ImportError:
            pass
        else:
            return cast("EventSource", CParser(text))
    from derivlint.yaml_reader.pure import PureParser

    return PureParser(text)
