"""What every check promises, whatever the exercise."""

import asyncio
import builtins
import functools
import inspect
import io
import math
import random
import re
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import jaxtyping
import numpy
import pytest
import torch

from lookback.exercises import check
from lookback.exercises.checking import Exercise

BOOK = Path(__file__).parents[1] / "book"
every = pytest.mark.parametrize("made", list(check), ids=lambda m: m.name)
coded = pytest.mark.parametrize(
    "made", [m for m in check if not m.by_hand], ids=lambda m: m.name
)
changeable = pytest.mark.parametrize(  # a class is handed nothing but sizes
    "made",
    [
        m
        for m in check
        if not (m.by_hand or isinstance(m.solution, type))
        # and these are handed two numbers, and a model
        and m.name not in ("prefix_mask", "caught_streams")
    ],
    ids=lambda m: m.name,
)
by_hand = pytest.mark.parametrize(
    "made", [m for m in check if m.by_hand], ids=lambda m: m.name
)
# What `Answer` and `Exercise` do before a check is asked is the same for all of
# them: one that wants a function stands for those, one that wants a class, and
# one by hand.
to_write = pytest.mark.parametrize(
    "made", [check.context, check.soft_search], ids=lambda m: m.name
)
one_of_each = pytest.mark.parametrize(
    "made",
    [check.context, check.soft_search, check.gru_by_hand],
    ids=lambda m: m.name,
)


def said_about(capsys, name, answer):
    """What a check prints about an answer that is not right yet."""
    assert getattr(check, name)(answer) is False
    return " ".join(capsys.readouterr().out.split())


def right_answer(made):
    return made.solution() if made.by_hand else made.solution


def written(body, made, **space):
    """A function as a reader would write it, with the wanted signature."""
    parameters = ", ".join(made.inputs)
    space["torch"] = torch
    exec(f"def mine({parameters}):\n    {body}", space)
    return space["mine"]


@every
def test_reference_solution_passes(made, capsys):
    assert made(right_answer(made)) is True
    said = capsys.readouterr().out
    assert said.startswith(f"Right: {made.name}\n") and len(said) > 40


@to_write
@pytest.mark.parametrize(
    "body",
    ["raise NotImplementedError", "...", "pass", "return ...", '"""Words."""'],
)
def test_an_empty_stub_is_not_attempted(made, body, capsys):
    assert made(written(body, made)) is None
    assert "Not attempted yet" in capsys.readouterr().out


@one_of_each
@pytest.mark.parametrize("nothing", [None, ...])
def test_no_answer_is_not_attempted(made, nothing, capsys):
    assert made(nothing) is None
    assert made() is None
    assert capsys.readouterr().out.count("Not attempted yet") == 2


@by_hand
def test_an_open_hand_answer_is_not_attempted(made, capsys):
    assert made((..., ...)) is None
    assert made([None, 2.0]) is False
    assert "still open" in capsys.readouterr().out


@to_write
def test_an_error_in_the_answer_is_reported_not_raised(made, capsys):
    first = made.inputs[0]
    assert made(written(f"return {first}.no_such_thing(1)", made)) is False
    said = capsys.readouterr().out
    assert "Your function raised AttributeError" in said
    assert "no_such_thing" in said and "Line 2" in said
    assert f"It was given {first} " in said


def test_the_reader_sees_their_own_line_and_the_shapes(capsys):
    def mine(weights, H):
        return weights @ H.sum()

    assert check.context(mine) is False
    said = capsys.readouterr().out
    assert "return weights @ H.sum()" in said
    assert "weights [3, 3], H [3, 3, 3]" in said


def test_an_error_raised_by_torch_itself_is_not_taken_for_a_stub(capsys):
    def deep(weights, H):
        return torch.softmax(H > 0, -1)

    assert check.context(deep) is False
    said = " ".join(capsys.readouterr().out.split())
    assert "NotImplementedError" in said and "for 'Bool'" in said


@to_write
def test_a_forgotten_return_is_named(made, capsys):
    body = f"result = {made.inputs[0]}"
    assert made(written(body, made)) is False
    assert "is there a `return`?" in capsys.readouterr().out


def test_a_way_through_without_a_return_is_named_with_its_inputs(capsys):
    def mine(weights, H):
        if len(H) < 3:
            return torch.einsum("bs,bsd->bd", weights, H)

    said = said_about(capsys, "context", mine)
    assert (
        "For weights [3, 3], H [3, 3, 3] your function gave back None" in said
    )


def test_a_wrong_shape_alone_is_no_sign_of_a_slip(capsys):
    said = said_about(capsys, "context", lambda weights, H: H * weights.sum())
    assert said.endswith("and [batch, d] is [3, 3] here.")


def test_a_hint_is_about_the_first_case_that_is_wrong(capsys):
    def mine(weights, H):
        return 2 * H[:, 0] if len(H) == 3 else H.no_such_thing

    assert "a value is not" in said_about(capsys, "context", mine)


def test_a_module_that_is_not_begun_is_named_on_its_line(capsys):
    class Mine(torch.nn.Module):
        def __init__(self, vocab, embed, hidden):
            self.W = torch.nn.Linear(hidden, hidden)

    said = said_about(capsys, "soft_search", Mine)
    assert "self.W = torch.nn.Linear(hidden, hidden) Call super()" in said


@to_write
def test_a_wrong_number_of_arguments_is_named(made, capsys):
    assert made(lambda: 1) is False
    wanted = f"({', '.join(made.inputs)})"
    said = " ".join(capsys.readouterr().out.split())
    assert f"{len(made.inputs)} arguments" in said and wanted in said


@to_write
def test_a_call_in_place_of_the_function_is_named(made, capsys):
    assert made(torch.zeros(2)) is False
    assert "wants the function itself" in capsys.readouterr().out


def test_a_built_in_that_tells_no_signature_is_tried_all_the_same(capsys):
    said = said_about(capsys, "context", torch.bmm)
    assert "Your function raised RuntimeError" in said


@changeable
def test_changing_an_argument_in_place_is_named(made, capsys):
    functions = ("attention", "examine")  # these cannot be changed
    at = int(made.inputs[0] in functions)

    def greedy(*given):
        result = made.solution(*given)
        with torch.no_grad():
            one = given[at]
            one.clear() if hasattr(one, "clear") else one.add_(1)
        return result

    assert made(greedy) is False
    said = " ".join(capsys.readouterr().out.split())
    assert f"changes its argument `{made.inputs[at]}` in place" in said
    assert made(made.solution) is True


@every
def test_truth_does_not_come_from_the_solution(made, monkeypatch):
    def used(*given):
        raise AssertionError("the check called the solution")

    answer = right_answer(made)
    module = inspect.getmodule(made.judge)
    monkeypatch.setattr(module, made.solution.__name__, used)
    monkeypatch.setattr(made, "solution", used)
    assert made(answer) is True


@every
def test_a_check_leaves_no_trace(made, monkeypatch):
    # The tests' own question for types asks of a list any one, by chance.
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    torch.manual_seed(0), random.seed(0)
    before = torch.get_rng_state(), random.getstate()
    made(right_answer(made))
    assert torch.equal(before[0], torch.get_rng_state())
    assert before[1] == random.getstate()


@pytest.mark.nightly
@every
def test_a_check_works_in_the_readers_default_dtype(made):
    torch.set_default_dtype(torch.float64)
    try:
        assert made(right_answer(made)) is True
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.nightly
@every
def test_output_is_plain_narrow_text(made, capsys):
    made(right_answer(made)), made(), made("x" if made.by_hand else len)
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert max(map(len, said.splitlines())) <= 76


slipped = pytest.mark.parametrize(
    "made, hint, wrong",
    [
        pytest.param(made, *slip, id=f"{made.name}-{number}")
        for made in check
        for number, slip in enumerate(made.slips)
    ],
)
styled = pytest.mark.parametrize(
    "made, right",
    [
        pytest.param(made, right, id=f"{made.name}-{number}")
        for made in check
        for number, right in enumerate(made.styles)
    ],
)


@slipped
@pytest.mark.filterwarnings("ignore")
def test_a_slip_gets_its_hint_and_no_other(made, hint, wrong):
    outcome, said = made.verdict(wrong)
    assert outcome is False
    others = {other for other, _ in made.slips if other not in hint}
    assert hint in said and not any(other in said for other in others)


@coded
def test_mistakes_that_people_make_have_hints(made):
    assert len(made.slips) >= (2 if made.name == "writes_backwards" else 3)


@styled
def test_a_right_answer_in_another_style_is_right(made, right):
    assert made.verdict(right)[0] is True


def strange(made):
    """Answers of every kind that no check expects, by name."""
    right = right_answer(made)
    if not made.by_hand:
        right = made.solution(*inputs_of(made))
    numbers = right if isinstance(right, torch.Tensor) else torch.ones(2)
    numbers = numbers.detach().float()
    yield "a list", [numbers.tolist(), "x"]
    yield "an array", numpy.array(["x"])
    yield "nan", numbers * torch.nan
    yield "complex", numbers + 1j
    yield "meta", numbers.to("meta")
    yield "sparse", numbers.to_sparse()
    yield "nested", torch.nested.nested_tensor([numbers, numbers])
    yield "quantised", torch.quantize_per_tensor(numbers, 0.1, 0, torch.quint8)
    yield "a huge number", 10**400
    yield "a complex number", 1 + 1j
    yield "not a number", float("nan")
    yield "text", "a half"
    yield "a set", {0.5}
    yield "an object", object()
    if isinstance(right, float):
        yield "the right real part", right + 1j


def inputs_of(made):
    """What the check first hands to the reader's function."""
    seen = []
    made(written("note(locals()); return 0", made, note=seen.append))
    return list(seen[0].values())


@every
@pytest.mark.filterwarnings("ignore")
def test_strange_answers_get_a_sentence(made, capsys):
    for kind, answer in strange(made):
        given = (
            answer if made.by_hand else written("return it", made, it=answer)
        )
        capsys.readouterr()
        assert made(given) is False, kind
        said = capsys.readouterr().out
        assert said.startswith(f"Not yet: {made.name}\n  "), kind
        assert len(said) > 45 and "Traceback" not in said, kind


class Mute(Exception):
    """An error that cannot say what it is."""

    def __str__(self):
        raise self


class OwnBase(BaseException):
    """An error that `except Exception` lets through."""


# Python 3.10 has no groups.
GROUP = getattr(builtins, "BaseExceptionGroup", OwnBase)


@to_write
@pytest.mark.parametrize(
    "error",
    [
        *(Mute(), SystemExit(1), RecursionError("x"), OwnBase()),
        *(asyncio.CancelledError(), GeneratorExit()),
        GROUP("some", [ValueError("x")]),
        GROUP("some", [OwnBase(), asyncio.CancelledError()]),
    ],
)
def test_any_error_in_the_answer_is_told(made, error, capsys):
    assert made(written("raise error", made, error=error)) is False
    said = capsys.readouterr().out
    assert f"Your function raised {type(error).__name__}" in said
    assert "Line 2" in said


@pytest.mark.parametrize("error", [OwnBase(), SystemExit(1), GeneratorExit()])
def test_an_answer_by_hand_that_raises_when_read_gets_a_sentence(error):
    class Strange:
        def tolist(self):
            raise error

    outcome, said = check.gru_by_hand.verdict(Strange())
    assert outcome is False and type(error).__name__ in said


def test_the_reader_may_interrupt():
    with pytest.raises(KeyboardInterrupt):
        check.context(written("raise KeyboardInterrupt", check.context))


@pytest.mark.parametrize(
    ("space", "name"),
    [
        *((torch, name) for name in ("allclose", "equal", "softmax")),
        *((torch.Tensor, name) for name in ("allclose", "__sub__", "abs")),
        *((torch.nn.functional, "cross_entropy"), (math, "exp")),
        *((builtins, "all"), (builtins, "zip"), (numpy, "allclose")),
    ],
)
@pytest.mark.parametrize("when", ["before", "inside"])
def test_an_answer_that_patches_torch_spoils_nothing(space, name, when):
    own = getattr(space, name)
    there = name in vars(space)

    def patch():
        setattr(space, name, lambda *given, **more: True)

    def undo():
        setattr(space, name, own) if there else delattr(space, name)

    def wrong(weights, H):
        patch()
        return torch.zeros(len(H), H.shape[2])

    if when == "before":
        patch()
        try:
            verdicts = [
                check.context.verdict(lambda weights, H: H[:, 0]),
                check.context.verdict(check.context.solution),
            ]
            assert getattr(space, name) is not own  # that is the reader's
        finally:
            undo()
    else:
        verdicts = [
            check.context.verdict(wrong),
            check.context.verdict(check.context.solution),
        ]
        assert getattr(space, name) is own
        assert (name in vars(space)) == there
    assert [right for right, _ in verdicts] == [False, True]


def test_an_answer_that_changes_the_default_dtype_is_undone():
    def wide(weights, H):
        torch.set_default_dtype(torch.float64)
        return H

    assert check.context.verdict(wide)[0] is False
    assert torch.get_default_dtype() == torch.float32


class Console(io.TextIOWrapper):
    """A console of some encoding that takes no other sign."""

    def __init__(self, encoding):
        super().__init__(io.BytesIO(), encoding=encoding, errors="strict")


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "cp437", "utf-8"])
def test_every_text_can_be_printed_anywhere(encoding, monkeypatch):
    console = Console(encoding)
    monkeypatch.setattr("sys.stdout", console)
    for made in check:
        texts = [hint for hint, _ in made.slips]
        if made.by_hand:
            page = made.page()
            texts += [page["verified"], *page["says"].values()]
            for stage in page["stages"]:
                texts += [hint for hint, _ in stage["mistakes"]]
                texts.append(stage["otherwise"] or "")
        for text in [*texts, "\ud800 √2 ½ h₂ e⁻¹ 10⁴ 字"]:
            monkeypatch.setattr(made, "verdict", lambda _, text=text: (0, text))
            made("x")
        monkeypatch.undo()
        monkeypatch.setattr("sys.stdout", console)
    console.flush()
    said = console.buffer.getvalue().decode(encoding)
    if encoding == "ascii":
        words = set(re.findall(r"\S*\?\S*", said))
        assert "sqrt d_k" in said and "? sqrt 2 1/2 h2 e?^1 10^4 ?" in said, (
            words
        )


# Of a right answer one number is made wrong: where, is said in the answer's own
# tensor.
@coded
@pytest.mark.filterwarnings("ignore")
def test_an_index_in_a_hint_is_one_of_the_answers_own_tensor(made):
    shapes = []

    def spoilt(result):
        if isinstance(result, torch.Tensor) and result.is_floating_point():
            shapes.append(result.shape)
            if result.numel():
                result = result.clone()
                with torch.no_grad():
                    result.view(-1)[-1] += 0.0371
        if isinstance(result, (list, tuple)):
            return type(result)(map(spoilt, result))
        return result

    if isinstance(made.solution, type):

        class Mine(made.solution):
            def forward(self, *given, **more):
                return spoilt(super().forward(*given, **more))

        mine = Mine
    else:

        def mine(*given):
            return spoilt(made.solution(*given))

    _, said = made.verdict(
        mine if isinstance(mine, type) else functools.wraps(made.solution)(mine)
    )
    for at in re.findall(r"at \[([\d, ]+)\]", said):
        index = [int(i) for i in at.split(",")]
        assert any(
            len(index) == len(shape)
            and all(i < n for i, n in zip(index, shape, strict=True))
            for shape in shapes
        ), (said, shapes)


@to_write
def test_an_answer_may_print(made, capsys):
    def talks(*given):
        print("half way")
        return made.solution(*given)

    assert made(talks) is True
    assert made(written("print(1)", made)) is False
    assert "print shows a value" in " ".join(capsys.readouterr().out.split())


@pytest.mark.nightly
@coded
def test_a_check_works_without_gradients_around_it(made):
    with torch.no_grad():
        assert made(made.solution) is True
    with torch.inference_mode():
        assert made(made.solution) is True


def test_what_nobody_thought_of_gets_a_sentence(capsys, monkeypatch):
    def broken(answer):
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(check.context, "judge", broken)
    assert check.context(lambda weights, H: H) is False
    said = " ".join(capsys.readouterr().out.split())
    assert "cannot read (ZeroDivisionError: division by zero)" in said


@pytest.mark.parametrize(
    "body, words",
    [
        ("return min(H, 0)", "take torch.minimum"),
        ("if H > 0: return H", "torch.where"),
        ("import math; return math.exp(H)", "math, float() and .item()"),
        ("return float(H)", "float() and .item() work on one"),
    ],
)
def test_torchs_riddles_are_explained(body, words, capsys):
    assert words in said_about(capsys, "context", written(body, check.context))


@pytest.mark.parametrize(
    ("mine", "words"),
    [
        (lambda weights, H: math.log(H.exp()), "torch.log, not math.log."),
        (
            lambda weights, H: math.sqrt(math.log(H)),
            "math, float() and .item()",
        ),
        (
            lambda weights, H: float(H) / math.sqrt(3),
            "math, float() and .item()",
        ),
    ],
)
def test_a_function_of_math_is_named_where_it_is_one(mine, words, capsys):
    assert words in said_about(capsys, "context", mine)


def test_a_forgotten_return_is_named_where_none_may_be_right(capsys):
    def mine(rates):
        rates.get("8")

    said = said_about(capsys, "half_length", mine)
    assert "is there a `return`?" in said


def test_an_endless_answer_is_broken_off(capsys):
    def mine(attended):
        while True:
            attended = list(attended)

    before = sys.gettrace()
    assert "never comes to an end" in said_about(
        capsys, "layers_to_connect", mine
    )
    assert sys.gettrace() is before


def test_check_lists_its_exercises():
    names = [made.name for made in check]
    assert dir(check) == sorted(names)
    assert all(name in repr(check) for name in names)
    assert "check.context(mine), where mine(weights, H)" in repr(check)


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(AttributeError, match="'gru_cel'.*'gru_cell'.*context"):
        check.gru_cel  # noqa: B018


def test_a_chapter_has_one_module_of_exercises():
    folder = Path(inspect.getfile(Exercise)).parent
    modules = {path.stem for path in folder.glob("*.py")}
    # The refresher is no chapter: its exercises are on no list.
    assert modules - {"__init__", "by_hand", "checking", "refresher"} == {
        m.chapter for m in check
    }


def test_two_exercises_of_one_name_are_refused():
    with pytest.raises(ValueError, match="two exercises"):
        check.add(check.context)


@pytest.mark.parametrize(
    "number",
    [Fraction(-442, 1000), Decimal("-0.44"), torch.tensor(-0.44)]
    + [numpy.float32(-0.44), numpy.array(-0.44), [torch.tensor(-0.44)]],
)
def test_a_hand_answer_may_be_any_kind_of_number(number):
    assert check.gru_by_hand(number) is True


def test_two_hand_answers_need_no_brackets():
    assert check.powers_by_hand(1e-9, 13_800) is True


@pytest.mark.parametrize("number", [True, 1j, -0.4416 + 1j, 10**400])
def test_a_hand_answer_is_a_real_number(number, capsys):
    said_about(capsys, "gru_by_hand", number)


@pytest.mark.parametrize("text", ["a", ["a"], [[1.0]]])
def test_text_is_no_hand_answer(text, capsys):
    assert check.gru_by_hand(text) is False
    assert "plain numbers" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["-0.44", "−0.44", "-11/25", " -44 / 1e2 "])
def test_a_number_or_a_fraction_may_be_text(text):
    assert check.gru_by_hand(text) is True
    assert check.kernel_by_hand("8/25", "16/25", "1/25", "74/25") is True


@pytest.mark.parametrize(
    "text", ["47,185,920", "−0,44", "1/0", "a/b", "1/2/3", "_", "nan", "."]
)
def test_text_is_asked_for_as_numbers(text, capsys):
    said = said_about(capsys, "gru_by_hand", text)
    assert "not text" in said and "1/3" in said


def test_a_comma_between_thousands_is_named(capsys):
    assert check.products_by_hand(47, 185, 920, 32, 378, 880, 1024) is False
    said = " ".join(capsys.readouterr().out.split())
    assert "You gave 7 numbers" in said and "47_185_920" in said
    assert check.powers_by_hand(1e-9, 14, 0) is False
    said = " ".join(capsys.readouterr().out.split())
    assert "You gave 3 numbers" in said and "47_185_920" in said


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("gru_by_hand", [-0.4]),
        ("context_by_hand", [2.7, -0.2]),
        ("attention_by_hand", [[2.9, 2.2], [0.5, 7.0]]),
        ("smoothing_by_hand", [0.5, 0.6]),
        ("post_norm_by_hand", [-1.0, -0.3, -0.3, 1.7]),
    ],
)
def test_one_decimal_where_more_are_asked_is_named(name, answer, capsys):
    assert "to one decimal only" in said_about(capsys, name, answer)


@pytest.mark.parametrize(
    ("name", "answer", "decimals"),
    [
        ("policy_gradient_by_hand", [0.75, 0.13, -0.19, 0.06], "two decimals"),
        ("policy_gradient_by_hand", [0.75, 0.12, -0.19, 0.06], "two decimals"),
        ("distances_by_hand", [0.1, 0.22], "two decimals"),
        ("em_by_hand", [0.8, 0.3, 0.5, 0.7], "one decimal"),  # of 0.75, 0.25
        ("em_by_hand", [0.7, 0.2, 0.5, 0.7], "one decimal"),
        ("kernel_by_hand", [0.3, 0.6, 0.0, 3.0], "one decimal"),
        ("attention_by_hand", [2.9, 2.2, 0.48, 7.05], "one decimal"),
        ("phi_by_hand", [0.37, 1.07, 0.87], "two decimals"),
    ],
)
def test_a_half_is_rounded_up_or_down(name, answer, decimals, capsys):
    assert f"Right, but to {decimals} only" in said_about(capsys, name, answer)


@pytest.mark.parametrize(
    ("name", "answer", "said"),
    [
        ("em_by_hand", [0.75, 0.25, 0.5, 0.66], "cut off after two decimals"),
        ("phi_by_hand", [0.36, 1.06, 0.86], "cut off after two decimals"),
        ("post_norm_by_hand", [-1, -0.33, -0.33, 1.6], "after one decimal"),
        ("products_by_hand", [47e6, 32e6, 1024], "rounded too far"),
        ("cache_by_hand", [98_304, 200], "rounded too far"),
        ("cache_by_hand", [98_304, 196], "does not recognize"),
        ("smoothing_by_hand", [0.46, 0.62], "does not recognize"),
        ("kernel_by_hand", [32, 64, 4, 2.96], "not per cent"),
        ("em_by_hand", [75, 0.25, 0.5, 0.67], "not per cent"),
        ("seeds_by_hand", [3, 1.83, 1.5275, 3], "Welch"),
        ("seeds_by_hand", [3, 1.83, 1.52, 3], "The root is missing"),
        ("seeds_by_hand", [3, 1.83, 1.67, 3.01], "degrees of freedom"),
        ("swaps_by_hand", [2, 4, 0.5], "5 − 2 − 1, or the mean"),
        ("swaps_by_hand", [6, 4.02, 0.5], "number of orders"),
        ("codes_by_hand", [2, 0.005, 0.5], "larger than that"),
        ("codes_by_hand", [2, 0.015, 0.5], "does not recognize"),
        ("codes_by_hand", [2, 0.01, 0.37], "Add the four squares"),
        ("odd_head_by_hand", [1, 9], "four layers of four heads"),
        ("odd_head_by_hand", [1.015, 4.04], "four layers"),
        ("count_paths", [20.001], "does not recognize"),
        ("attention_by_hand", [2.97, 2.18, 0.49, 7.14], "does not recognize"),
        ("context_by_hand", [2.77, -0.25], "does not recognize"),
    ],
)
def test_what_is_not_quite_right_is_named(name, answer, said, capsys):
    assert said in said_about(capsys, name, answer)


def test_a_whole_number_is_given_exactly(capsys):
    for n in (1022, 1023, 1026):
        answer = 47_185_920, 32_378_880, n
        assert "give n exactly" in said_about(
            capsys, "products_by_hand", answer
        )


def test_a_copy_is_of_the_arguments_own_kind(capsys):
    def mine(sizes):
        sizes.clear()
        return 0.5

    said = said_about(capsys, "feedforward_share", mine)
    assert "a copy: dict(sizes)." in said

    def other(attended):
        attended[0].append(0)
        return 1

    said = said_about(capsys, "layers_to_connect", other)
    assert "a copy: copy.deepcopy(attended)." in said


@pytest.mark.parametrize("kind", [torch.tensor, numpy.array])
def test_many_numbers_for_one_are_told_their_shape(kind, capsys):
    said = said_about(
        capsys, "fair_accuracy", lambda said, senses: kind([1, 0])
    )
    assert "Give back one number; yours has shape [2]." in said


def test_a_decimal_comma_is_named(capsys):
    assert check.gru_by_hand((0, 44)) is False
    assert "decimals with a point" in capsys.readouterr().out


def stubs(made: Exercise):
    """What the book hands to the check: its name, the fences that define it."""
    text = (BOOK / f"{made.chapter}.md").read_text(encoding="utf-8")
    (name,) = set(re.findall(rf"check\.{made.name}\((\w+)\)", text))
    found = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    begins = rf"^((def|class) {name}\(|{name} = )"
    return name, [f for f in found if re.search(begins, f, re.M)]


@coded
def test_the_stub_in_the_book_is_what_the_check_wants(made):
    name, (stub, *_) = stubs(made)
    space = {"check": check, "nn": torch.nn}  # imported by an earlier stub
    exec(stub, space)
    mine = space[name]
    if mine is not ...:
        assert list(inspect.signature(mine).parameters) == made.inputs
    assert made(mine) is None


@every
def test_the_book_calls_the_check_and_has_a_solution(made):
    text = (BOOK / f"{made.chapter}.md").read_text(encoding="utf-8")
    label = "exercise-" + made.name.replace("_", "-")
    assert f"check.{made.name}(" in text
    assert f":label: {label}\n" in text
    assert f"{{solution-start}} {label}\n" in text
    assert (f"ByHand(check.{made.name})" in text) == made.by_hand
