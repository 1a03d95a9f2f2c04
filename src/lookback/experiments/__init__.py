"""One module per recorded result: `python -m lookback.experiments.<name>`."""
