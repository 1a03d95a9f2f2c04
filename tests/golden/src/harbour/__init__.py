"""A package small enough to test with."""
