"""The bench every model of the book stands on: data, training, measuring."""
