"""What a campaign did and found, in a folder: it goes on where it was interrupted."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from fuzz.finds import Find

STATE = "state.json"


class Record:
    """The state of a campaign.

    Attributes:
        folder: where it is kept.
        finds: how many inputs showed each find, by target and key.
    """

    def __init__(self, folder: Path, seed: int, targets: list[str]) -> None:
        """Begin, or go on with what the folder holds of a campaign of the same seed and targets."""
        self.folder = folder
        self.finds: Counter[tuple[str, str]] = Counter()
        self.counts: Counter[str] = Counter()
        self._identity = {"seed": seed, "targets": targets}
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._elapsed = 0.0
        self._ranges: list[tuple[int, int]] = []
        self._before = 0
        folder.mkdir(parents=True, exist_ok=True)
        self._load()

    @property
    def done(self) -> int:
        """How many inputs were run."""
        return sum(last - first for first, last in self._ranges)

    def _load(self) -> None:
        path = self.folder / STATE
        if not path.is_file():
            return
        state = json.loads(path.read_text(encoding="utf-8"))
        if state["identity"] != self._identity:
            raise SystemExit(
                f'"{self.folder}" holds a campaign with another seed or other targets; name another folder'
            )
        self._ranges = [(first, last) for first, last in state["ranges"]]
        self.counts.update(state["counts"])
        self._seconds.update({name: float(spent) for name, spent in state["seconds"].items()})
        self.finds.update({(target, key): count for target, key, count in state["finds"]})
        self._elapsed = state["elapsed"]
        self._before = self.done

    def save(self, elapsed: float) -> None:
        """Write the state.

        Args:
            elapsed: the seconds of this run.
        """
        state = {
            "identity": self._identity,
            "ranges": self._ranges,
            "counts": self.counts,
            "seconds": self._seconds,
            "finds": [[*names, count] for names, count in sorted(self.finds.items())],
            "elapsed": self._elapsed + elapsed,
        }
        (self.folder / STATE).write_text(json.dumps(state, indent=1) + "\n", encoding="utf-8")

    def ranges(self, inputs: int, size: int) -> list[tuple[int, int]]:
        """What is left to do of so many inputs, in pieces of at most that size."""
        pieces: list[tuple[int, int]] = []
        begin = 0
        for first, last in [*sorted(self._ranges), (inputs, inputs)]:
            pieces += [(start, min(start + size, first, inputs)) for start in range(begin, min(first, inputs), size)]
            begin = max(begin, last)
        return pieces

    def add(self, find: Find) -> None:
        """Take a find; the first input that shows it is kept."""
        names = find.target, find.key
        self.finds[names] += 1
        if self.finds[names] > 1:
            return
        words = re.sub(r"[^a-z0-9]+", "-", find.key.lower())[:60].strip("-")
        stem = f"{find.target}--{words}-{sha256(find.key.encode()).hexdigest()[:6]}"
        (self.folder / f"{stem}.input").write_bytes(find.data)
        text = f"{find.target}: {find.key}\nseed {self._identity['seed']}, input {find.index}\n\n{find.detail}\n"
        (self.folder / f"{stem}.txt").write_text(text, encoding="utf-8", errors="backslashreplace")

    def count(self, first: int, reached: int, counts: Mapping[str, int], seconds: Mapping[str, float]) -> None:
        """Note that a range is done."""
        self._ranges.append((first, reached))
        self.counts.update(counts)
        for name, spent in seconds.items():
            self._seconds[name] += spent

    def rate(self, elapsed: float) -> float:
        """Inputs in a second of this run."""
        return (self.done - self._before) / max(elapsed, 0.001)

    def summary(self, elapsed: float) -> list[str]:
        """What to say in the end."""
        width = max((len(name) for name in self.counts), default=6)
        lines = [f"{'target':{width}}    inputs   ms of processor time each"]
        for name, count in sorted(self.counts.items(), key=lambda item: (-item[1], item[0])):
            lines.append(f"{name:{width}} {count:9,}   {1000 * self._seconds[name] / count:.2f}")
        total = sum(self._seconds.values())
        speed = f"{self.rate(elapsed):,.0f} inputs a second in this run"
        lines.append(f"{self.done:,} inputs, {total:,.0f} s of processor time, {speed}")
        if not self.finds:
            return [*lines, "nothing was found"]
        lines.append(f"{len(self.finds):,} finds, with their inputs in {self.folder}:")
        lines += [f"  {count:7,}  {target}: {key}" for (target, key), count in self.finds.most_common()]
        return lines
