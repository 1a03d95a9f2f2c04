"""A check has to notice when one thing in its reference solution is changed.

A mutant is the solution with one slip in it: another operator or comparison, a
term left out, a number one too large or too small (so also another axis), a
truth value, another argument, two neighbours exchanged, a call or a sign left
out. A mutant that passes its check either has the solution's value wherever the
exercise is defined, and stands in `EQUAL` with the reason, or the check is too
weak.
"""

import ast
import copy
import inspect
import textwrap
from itertools import count

import pytest
import torch

from lookback.exercises import check

OTHERS = {
    ast.Add: [ast.Sub],
    ast.Sub: [ast.Add],
    ast.Mult: [ast.Div, ast.Add],
    ast.Div: [ast.Mult],
    ast.FloorDiv: [ast.Div],
    ast.Pow: [ast.Mult],
    ast.BitAnd: [ast.BitOr],
    ast.BitOr: [ast.BitAnd],
    ast.And: [ast.Or],
    ast.Or: [ast.And],
    ast.Lt: [ast.LtE, ast.Gt],
    ast.LtE: [ast.Lt, ast.GtE],
    ast.Gt: [ast.GtE, ast.Lt],
    ast.GtE: [ast.Gt, ast.LtE],
    ast.Eq: [ast.NotEq],
    ast.NotEq: [ast.Eq, ast.Gt],
}
ORDERED = (ast.Sub, ast.Div, ast.FloorDiv, ast.Pow, ast.MatMult)
UNORDERED = ("transpose", "minimum", "maximum", "min", "max", "logaddexp")
SILENT = (ast.arguments, ast.expr_context)  # defaults are never used
MODULES = ("torch", "math", "F")


def number(node):
    """What a literal number says, its sign included; else None."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = number(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return node.value
    return None


def exchanged(items):
    """The list with two neighbours exchanged, once for each pair of them."""
    for i in range(len(items) - 1):
        yield [*items[:i], items[i + 1], items[i], *items[i + 2 :]]


def slips(node, arguments):
    """What a slip could put in the place of this node."""

    def but(**fields):
        other = copy.copy(node)
        vars(other).update(fields)
        return other

    if (value := number(node)) is not None:
        near, far = [value + 1, value - 1], [value * 10, value / 10]
        sign = [-value] if isinstance(value, float) else []
        for wrong in (near if abs(value) < 100 else far) + sign:
            yield ast.Constant(wrong)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield but(value=not node.value)
    elif isinstance(node, ast.Name) and node.id in arguments:
        for other in arguments:
            yield but(id=other)
    elif isinstance(node, (ast.BinOp, ast.BoolOp, ast.AugAssign)):
        for other in OTHERS.get(type(node.op), []):
            yield but(op=other())
        if isinstance(node, ast.BinOp):
            yield from (node.left, node.right)
            if isinstance(node.op, ORDERED):
                yield but(left=node.right, right=node.left)
    elif isinstance(node, ast.Compare):
        for other in OTHERS.get(type(node.ops[0]), []):
            yield but(ops=[other()])
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load):
        for items in exchanged(node.elts):
            yield but(elts=items)
    elif isinstance(node, ast.Call):
        owner, _, name = ast.unparse(node.func).rpartition(".")
        if name not in UNORDERED:
            for items in exchanged(node.args):
                yield but(args=items)
        if owner and owner not in MODULES:
            yield node.func.value
        elif node.args and not isinstance(node.args[0], ast.Starred):
            yield node.args[0]


def places(node):
    """Every node below this one, with the function that replaces it."""
    for name, value in ast.iter_fields(node):
        for at, child in enumerate(
            value if isinstance(value, list) else [value]
        ):
            if not isinstance(child, ast.AST) or isinstance(child, SILENT):
                continue

            def put(new, value=value, name=name, at=at):
                if isinstance(value, list):
                    value[at] = new
                else:
                    setattr(node, name, new)

            yield child, put
            if number(child) is None:
                yield from places(child)


def compiled(tree, solution):
    """The tree's function, in which no `while` turns for ever."""
    tree = ast.parse(ast.unparse(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.While):
            node.body.insert(0, ast.parse("next(_turns)").body[0])
    space = {**vars(inspect.getmodule(solution))}
    space["_turns"] = iter(range(10_000))
    exec(compile(ast.fix_missing_locations(tree), "<mutant>", "exec"), space)
    return space[solution.__name__]


def parsed(solution):
    """The solution's source as a tree."""
    return ast.parse(textwrap.dedent(inspect.getsource(solution)))


def mutants(solution, step=1):
    """What is changed, in words, and the function so changed."""
    tree, turn = parsed(solution), count()
    arguments = list(inspect.signature(solution).parameters)
    for node, put in places(tree):
        right = ast.unparse(node)
        for slip in slips(node, arguments):
            if (wrong := ast.unparse(slip)) != right and next(turn) % step == 0:
                put(slip)
                yield f"{right} -> {wrong}", compiled(tree, solution)
        put(node)


def survivors(made, step=1):
    found = mutants(made.solution, step)
    return [what for what, mutant in found if made(mutant)]


TRAINED = ("looks_backwards", "writes_backwards")  # nine in ten is enough
INVENTED = ("all_but_one",)  # whatever has the traits is right
LOOSE = (*TRAINED, *INVENTED)
CODED = [m for m in check if not m.by_hand and m.name not in LOOSE]

# Mutants that pass since they are right, each with the reason.
EQUAL = {
    "attend_from_scratch": {"Q -> K": "queries are as long as keys"},
    "soft_dictionary": {
        "(scores == scores.max()).to(values.dtype) -> scores == scores.max()": (
            "divided by their number, True and False become shares all the same"
        ),
        "values -> query": "only its dtype is taken, and all have one",
        "values -> keys": "only its dtype is taken, and all have one",
        "0 -> -1": "the scores have one axis, the first and the last",
    },
    "masked_softmax": {
        "mask.any(dim=-1, keepdim=True) -> mask": "a masked place ends as 0/1, "
        "an open one keeps its row's maximum and sum",
        "0 -> 1": "the maximum of a row without any place is never used",
        "0 -> -1": "the maximum of a row without any place is never used",
        "1 -> 2": "the sum of a row without any place is 0: 0/2 is 0/1",
    },
    "without_tanh": {
        "(H @ U.T).unsqueeze(0) -> H @ U.T": "a first axis of 1 comes by itself"
    },
    "soft_window": {
        "kappa[:, None] - u -> u - kappa[:, None]": "the distance is squared"
    },
    "log_density": {
        "move - mu -> mu - move": "an ellipse is the same turned half round"
    },
    "pooled_spread": {"x - mean -> mean - x": "it is squared"},
    "expected_reward": {
        "first -> second": "there are as many rows as places",
        "first -> reward": "there are as many rows as places",
        "-1 -> 0": "the logits of the first place have one axis",
    },
    "covered_loss": {"0 -> -1": "gather leaves one number at each place"},
    "fair_accuracy": {
        "senses == k -> senses != k": "the two shares change places",
        "(0, 1) -> (1, 0)": "a sum does not see the order",
    },
    "moved_by": {
        "before - after -> after - before": "only the size is taken",
    },
    "top_p": {"0 -> -1": "the probabilities have one axis"},
    "linear_step": {"z @ query -> query @ z": "a dot product has no order"},
    "layers_to_connect": {"set(row) -> row": "no row names a position twice"},
    "tokens_apart": {
        "x - x.mean(dim=1, keepdim=True) -> x.mean(dim=1, keepdim=True) - x": (
            "the norm of a difference does not see its sign"
        )
    },
    "merge_pair": {"tuple(pair) -> pair": "a pair is a tuple already"},
    "rotary_scores": {
        "a * cos - b * sin -> b * sin - a * cos": "queries and keys alike have "
        "one number of each pair with the other sign"
    },
    "parameters_of": {
        "d // config['num_attention_heads'] -> d / "
        "config['num_attention_heads']": "it leaves no remainder"
    },
    "cached_step": {
        f"q -> {other}": "all vectors are equally long"
        for other in ("k", "v", "past_k", "past_v")
    },
    "soft_search": {
        "source != PAD -> source > PAD": "no word has a number below 0",
        "True -> False": "batch_first is not asked for packed sentences",
    },
    "transformer": {
        "source != PAD -> source > PAD": "no word has a number below 0",
    },
    "log_likelihood": {
        "emit -> blank": "only its shape is taken, and both have one",
        "0.0 -> -0.0": "nought is nought",
        "0 -> -1": "the last column has one axis, the first and the last",
    },
    "where_written": {
        f"emit -> {other}": "only its shape is taken, and all have one"
        for other in ("alpha", "beta")
    },
    "clip_by_norm": {
        "norm > limit -> norm >= limit": "a gradient as long as the limit is "
        "multiplied by 1"
    },
    "hold_for": {"b_ih -> b_hh": "both biases are equally long"},
    "margin_loss": {"scores -> right": "only the stories are counted"},
    "kernel_regression": {
        "queries[:, None] - keys[None] -> keys[None] - queries[:, None]": (
            "the distance is squared"
        )
    },
    "reaches_query": {
        "0 -> -1": "torch gives back one gradient, the first and the last",
        "query.clone() -> query": "a copy is handed over, and may be marked",
        "bool(torch.stack(gradients).abs().max() > 1e-09) -> "
        "torch.stack(gradients).abs().max() > 1e-09": (
            "True in a tensor is True"
        ),
        "torch.stack(gradients).abs().max() > 1e-09 -> "
        "torch.stack(gradients).abs().max() >= 1e-09": (
            "no gradient has this length"
        ),
    },
    "sees_place": {
        "1 -> 2": "any other order will do",
        "torch.allclose(moved, attention(query, keys)[order]) -> "
        "torch.allclose(attention(query, keys)[order], moved)": (
            "alike is alike"
        ),
    },
    "reinforce_loss": {
        f"{one} -> {other}": "only the number of draws is taken"
        for one, other in (
            ("chosen", "logits"),
            ("chosen", "reward"),
            ("reward", "logits"),
            ("reward", "chosen"),
        )
    },
    "not_beaten": {
        "(quality >= good, cost <= cheap) -> "
        "(cost <= cheap, quality >= good)": "the two change roles around an &"
    },
}


every = pytest.mark.parametrize("made", CODED, ids=lambda made: made.name)


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")
@every
def test_every_mutant_is_caught_or_equal(made):
    assert made(compiled(parsed(made.solution), made.solution)) is True
    assert sorted(survivors(made)) == sorted(EQUAL.get(made.name, {}))


@pytest.mark.filterwarnings("ignore")
@every
def test_mutants_are_caught_or_equal(made):
    """Ten of each solution, as far apart as can be."""
    step = max(1, len([*mutants(made.solution)]) // 10)
    assert {*survivors(made, step)} <= {*EQUAL.get(made.name, {})}


@pytest.mark.nightly
def test_mutants_are_many_and_different():
    for made in CODED:
        changes = [what for what, _ in mutants(made.solution)]
        assert len(changes) > 4, made.name
    assert set(EQUAL) <= {made.name for made in CODED}


def test_a_weak_check_is_found_out(monkeypatch):
    def first_number_only(mine):
        words = torch.tensor([[5, 6, 3]])
        return "" if mine(words, 0)[0, 0, 0] else mine.missing

    made = check.padding_mask
    monkeypatch.setattr(made, "judge", first_number_only)
    assert "tokens != pad -> tokens > pad" in survivors(made)
