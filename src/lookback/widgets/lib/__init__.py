"""What the widgets share: checks, pictures, numbers and parts of views.

The modules in JavaScript reach the browser inside each widget that imports
them (`base.module`); `host.js` alone is loaded by the page itself.
"""
