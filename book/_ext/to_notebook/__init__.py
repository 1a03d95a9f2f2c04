"""From a page of the book to a notebook, step by step.

`myst` reads the source, `labels` knows what the published book calls things,
`text` and `directives` rewrite, `code` makes shown code live, `cells` puts the
notebook together.  Only what the chapters use is known; the rest is an error.
"""
