"""A hidden letter, three small windows, and two networks that guess too.

The eyes of `lookback.glimpses`, run in peephole.js: one was trained on windows
drawn at random, and guesses from those that the reader opens; the other on
three windows that are always the same, and opens these.
"""

import torch
from matplotlib.figure import Figure
from torch import Tensor
from traitlets import Dict, Int, List, Unicode, validate

from lookback.glimpses import Eye, EyeConfig, windows
from lookback.widgets import base
from lookback.widgets.lib import rows
from lookback.widgets.lib.checks import need

LIMITS = base.limits("peephole")
ALPHABET, LOOKS, LEVELS = (LIMITS[k] for k in ("alphabet", "looks", "levels"))
PLACES, PIXELS = LIMITS["across"] ** 2, LIMITS["across"] * LIMITS["side"]
TRAITS = ("eye", "fixed", "order", "pictures", "letters", "which", "looks")
TRAITS = (*TRAITS, "done")
SHAPES = {
    name: list(part.shape)
    for name, part in Eye(EyeConfig()).state_dict().items()
}


class Peephole(base.Widget):
    """Open windows, guess the letter, compare.

    `pictures` and `letters` are what is hidden, `which` the one at hand,
    `looks` the windows that are open; `done` holds what was guessed.

    Raises:
        TraitError: for weights, pictures or numbers that do not fit.
    """

    _esm = base.module("peephole")
    _css = base.style("peephole")
    eye = Dict().tag(sync=True)
    fixed = Dict().tag(sync=True)
    order = List(Int()).tag(sync=True)
    pictures = Dict().tag(sync=True)
    letters = Unicode().tag(sync=True)
    which = Int(0).tag(sync=True)
    looks = List(Int()).tag(sync=True)
    done = List(Dict()).tag(sync=True)

    def __init__(self, eye, fixed, order, pictures, letters, **how):
        """Two eyes, the second's places, pictures [n, 20, 20], n letters."""
        levels = (pictures * LEVELS).round().to(torch.uint8).numpy()
        super().__init__(
            eye=rows.pack(eye.state_dict()),
            fixed=rows.pack(fixed.state_dict()),
            order=list(order),
            pictures={"shape": list(levels.shape), "data": levels.tobytes()},
            letters=letters,
            **how,
        )

    @validate(*TRAITS)
    def _fits(self, proposal):
        new = self.proposed(proposal, TRAITS)
        for kind in ("eye", "fixed"):
            for name, shape in SHAPES.items():
                one = getattr(new, kind).get(name)
                fit = one and one["shape"] == shape and rows.whole(one)
                need(fit, f"{kind}: {name} is not {shape} in rows")
        n, most = len(new.letters), LIMITS["pictures"]
        need(0 < n <= most, f"letters: give 1 to {most}")
        strange = sorted(set(new.letters) - set(ALPHABET))
        need(not strange, f"letters: {strange} are none")
        fit = new.pictures.get("shape") == [n, PIXELS, PIXELS]
        fit = fit and len(new.pictures["data"]) == n * PIXELS**2
        need(fit, f"pictures: give {n} of {PIXELS} × {PIXELS} bytes")
        fit = max(new.pictures["data"]) <= LEVELS
        need(fit, f"pictures: a level is above {LEVELS}")
        need(len(new.order) == LOOKS, f"order: give {LOOKS} places")
        self._open(new.order, "order")
        self._open(new.looks, "looks")
        need(0 <= new.which < n, f"which is {new.which}: give 0 to {n - 1}")
        need(len(new.done) <= n, f"done: give {n} at most")
        for one in new.done:
            fit = set(one) == {"which", "looks", "guess"}
            need(fit, f"done: {one} must hold which, looks and guess")
            fit = type(one["which"]) is int and 0 <= one["which"] < n
            need(fit, f"done: which is {one['which']}")
            fit = one["guess"] and one["guess"] in [*ALPHABET]
            need(fit, f"done: {one['guess']!r} is no letter")
            self._open(one["looks"], "done")
        return proposal["value"]

    def _open(self, places: list, where: str) -> None:
        fit = len(places) <= LOOKS and len(set(places)) == len(places)
        fit = fit and all(type(x) is int and 0 <= x < PLACES for x in places)
        need(fit, f"{where}: give {LOOKS} different places at most, 0 to 24")

    def picture(self) -> Tensor:
        """The one at hand, from 0 to 1."""
        flat = torch.frombuffer(
            bytearray(self.pictures["data"]), dtype=torch.uint8
        )
        shape = self.pictures["shape"]
        return flat.view(shape)[self.which].double() / LEVELS

    @torch.no_grad()
    def guess(self, fixed: bool = False) -> Tensor:
        """Each letter's probability, by one of the eyes."""
        model = Eye(EyeConfig()).double()
        held = self.fixed if fixed else self.eye
        model.load_state_dict(
            {name: torch.tensor(rows.unpack(one)) for name, one in held.items()}
        )
        places = torch.tensor(self.order if fixed else self.looks)
        seen = windows(self.picture()[None], LIMITS["across"])[0]
        h = model.glimpse(seen[places.long()], places.long()).sum(0)
        return model(h).softmax(-1)

    def words(self) -> str:
        return (
            f"Letter {self.which + 1} of {len(self.letters)} is hidden behind "
            f"{PLACES} windows; {len(self.looks)} of {LOOKS} are open, and "
            f"{len(self.done)} letters were guessed."
        )

    def draw(self, figure: Figure) -> None:
        """The first letter as its windows show it, and whole."""
        picture = self.picture()
        side, across = LIMITS["side"], LIMITS["across"]
        seen = torch.full_like(picture, 0.25)
        for place in self.looks or self.order:
            top, left = (x * side for x in divmod(place, across))
            part = (slice(top, top + side), slice(left, left + side))
            seen[part] = picture[part]
        charts = figure.subplots(1, 2)
        for axes, image, title in zip(
            charts,
            (seen, picture),
            ("three windows", "the letter"),
            strict=True,
        ):
            axes.imshow(image.numpy(), cmap="Greys", vmin=0, vmax=1)
            axes.set(title=title, xticks=[], yticks=[])
