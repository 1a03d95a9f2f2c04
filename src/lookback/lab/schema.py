"""What every record must hold, and every run of one, as JSON Schemas."""

GIT = {  # null, or dirty null: nobody knows
    "type": ["object", "null"],
    "required": ["commit", "dirty"],
    "properties": {
        "commit": {"type": "string", "pattern": "^[0-9a-f]{40}$"},
        "dirty": {"type": ["boolean", "null"]},
    },
}
CODE = {"type": ["string", "null"], "pattern": "^[0-9a-f]{64}$"}
RUN = {  # as `experiments.runs.once` keeps it
    "type": "object",
    "required": ["seed", "git", "wall_seconds"],
    "properties": {
        "seed": {"type": "integer"},
        "git": GIT,
        "code": CODE,
        "wall_seconds": {"type": "number", "minimum": 0},
        "device": {"type": "string"},
        "made with": {"type": "object"},
    },
}
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
        "git": GIT,
        "code": CODE,
        "made_by": {  # where the runs are of several commits
            "type": "array",
            "items": {
                "type": "object",
                "required": ["git", "code", "runs"],
                "properties": {
                    "git": GIT,
                    "code": CODE,
                    "runs": {"type": "array", "items": {"type": "string"}},
                },
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
