"""Run every experiment; those that are finished go by in a moment."""

from importlib import import_module

from lookback.experiments import EXPERIMENTS

for name in EXPERIMENTS:
    import_module(f"lookback.experiments.{name}").main([])
