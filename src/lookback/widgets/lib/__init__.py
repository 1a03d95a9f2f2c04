"""What the widgets share: checks, pictures, numbers, and the view's parts.

The modules in JavaScript reach the browser inside each widget that imports
them (`base.module`); `host.js` alone is loaded by the page itself.
"""
