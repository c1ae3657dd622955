"""Wrong formulas in PyTorch's own file, and what is suggested: ``python -m tests.repairs --seed 1 --count 300``."""

from __future__ import annotations

import argparse

from derivlint.model import build_model
from derivlint.project.settings import Settings
from derivlint.repair.judge import Judge
from derivlint.rules import load_rules
from derivlint.schema import load_index
from derivlint.source import SourceFile
from derivlint.verify.runner import QUICK, RunOptions
from tests.conftest import packaged_folder
from tests.repairs.campaign import Campaign


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(prog="python -m tests.repairs", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--kinds", default="", help="kinds, separated by commas")
    parser.add_argument("--every", action="store_true", help="show all, not only those without a right candidate first")
    parser.add_argument("--verify", action="store_true", help="run the candidates in the installed PyTorch as well")
    arguments = parser.parse_args()
    source = SourceFile.read(packaged_folder() / "autograd" / "derivatives.yaml")
    model = build_model(source, load_index())
    settings = Settings()
    campaign = Campaign(Judge(source, model, settings.selected(load_rules()), settings.shows))
    kinds = tuple(arguments.kinds.split(",")) if arguments.kinds else ()
    for outcome in campaign.run(arguments.seed, arguments.count, kinds):
        if arguments.every or not outcome.is_first:
            print(outcome.shown(), flush=True)
    if arguments.verify:
        campaign.run_in_torch(RunOptions(QUICK, jobs=1))
    print(campaign.report())


if __name__ == "__main__":
    main()
