"""What every record must hold, as a JSON Schema."""

SCHEMA = {
    "type": "object",
    "required": [
        "experiment",
        "command",
        "config",
        "seeds",
        "git",
        "data",
        "versions",
        "device",
        "wall_seconds",
        "results",
    ],
    "additionalProperties": False,
    "properties": {
        "experiment": {"type": "string"},
        "command": {"type": "string"},
        "config": {"type": "object"},
        "seeds": {"type": "array", "items": {"type": "integer"}},
        "git": {  # null, or dirty null: nobody knows
            "type": ["object", "null"],
            "required": ["commit", "dirty"],
            "properties": {
                "commit": {"type": "string", "pattern": "^[0-9a-f]{40}$"},
                "dirty": {"type": ["boolean", "null"]},
            },
        },
        "data": {
            "type": "object",
            "additionalProperties": {"type": "string"},
        },
        "versions": {
            "type": "object",
            "required": ["python", "torch", "sacrebleu"],
        },
        "device": {"type": "string"},
        "wall_seconds": {"type": "number", "minimum": 0},
        "results": {"type": "object", "minProperties": 1},
    },
}
