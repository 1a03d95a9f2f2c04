"""Run every experiment; those that are finished go by in a moment.

All are imported first, so that all are of the code that stands in the records.
"""

from importlib import import_module

from lookback.experiments import EXPERIMENTS

modules = [
    import_module(f"lookback.experiments.{name}") for name in EXPERIMENTS
]
for module in modules:
    module.main([])
