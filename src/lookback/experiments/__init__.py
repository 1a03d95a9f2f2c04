"""One module per recorded result: `python -m lookback.experiments.<name>`.

`python -m lookback.experiments` runs them all, one after the other. Every
module calls `runs.campaign`, which says what --only, --seeds and --record do.
"""

EXPERIMENTS = (
    "search",
    "length",
    "alignment",
    "cursors",
    "copying",
    "ladder",
    "rungs",
    "german",
    "growth",
    "removal",
    "ablation",
    "tuned",
    "in_page",
    "scores",
    "order",
    "serial",
    "latch",
    "capacity",
    "linear",
    "softless",
    "glimpses",
    "hops",
    "window",
    "tape",
    "families",
    "stacks",
    "pictures",
    "plays",
    "since",
    "senses",
    "explanation",
    "depth",
    "memories",
    "pruning",
    "speed",
    "pages",
)
