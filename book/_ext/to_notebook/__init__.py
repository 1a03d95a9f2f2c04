"""From a page of the book to a notebook, step by step.

`myst` reads the source, `labels` knows what the published book calls things,
`roles`, `text`, `directives` and `tables` rewrite, `code` makes shown code
live, `cells` puts the notebook together.
"""
