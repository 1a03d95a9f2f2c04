"""An edit in a notebook takes effect in the package."""

import sys
from types import ModuleType

import pytest

from lookback.lab.live_edit import adopt

HOME = """
def tide(day):
    return day


class Water:
    def __init__(self, height):
        self.height = height

    def doubled(self):
        return 2 * self.height

    def emptied(self):
        return 0


class Sea(Water):
    def __init__(self, height):
        super().__init__(height)

    @property
    def depth(self):
        return self.height

    @staticmethod
    def salt():
        return "old"
"""


@pytest.fixture
def harbour(monkeypatch):
    """A package of two modules, the second of which imports from the first."""
    made = {}
    for name in ("harbour", "harbour.home", "harbour.away"):
        made[name] = module = ModuleType(name)
        monkeypatch.setitem(sys.modules, name, module)
    exec(HOME, vars(made["harbour.home"]))
    vars(made["harbour.away"])["flood"] = made["harbour.home"].tide
    return made["harbour.home"], made["harbour.away"]


def test_a_function_is_replaced_wherever_it_was_imported(harbour):
    home, away = harbour
    elsewhere = home.tide

    def tide(day):
        return day + 1

    assert adopt(tide, into="harbour.home") is tide is home.tide is away.flood
    assert elsewhere(1) == 1  # what a stranger holds is the stranger's

    def tide(day):
        return day + 2

    adopt(tide, into="harbour.home")
    assert away.flood(1) == 3


def test_a_class_changes_for_its_objects_and_its_subclasses(harbour):
    home, _ = harbour
    water, sea, old = home.Water(2), home.Sea(3), home.Water

    class Water:
        def __init__(self, height):
            self.height = 10 * height

        def doubled(self):
            return 7 * self.height

    assert adopt(Water, into="harbour.home") is old is home.Water
    assert (water.doubled(), sea.doubled()) == (14, 21)
    assert home.Sea(1).doubled() == 70
    assert not hasattr(water, "emptied")  # the edit left it out
    assert adopt(old, into="harbour.home") is old


def test_super_property_and_static_method_belong_to_the_old_class(harbour):
    home, _ = harbour
    sea = home.Sea(3)

    class Sea(home.Water):
        def __init__(self, height):
            super().__init__(height + 1)

        @property
        def depth(self):
            return super().doubled()

        @staticmethod
        def salt():
            return "new"

    made = adopt(Sea, into="harbour.home")(1)
    assert (made.height, made.depth, sea.depth) == (2, 4, 6)
    assert sea.salt() == made.salt() == "new" and isinstance(made, home.Water)


def test_another_parent_is_adopted_too(harbour):
    home, _ = harbour

    class Lake(home.Water):
        def doubled(self):
            return "lake"

    class Sea(Lake):
        pass

    sea = home.Sea(1)
    adopt(Sea, into="harbour.home")
    assert sea.doubled() == "lake"


def test_what_the_package_lacks_is_an_error(harbour):
    def ebb(day):
        return day

    with pytest.raises(AttributeError, match="no attribute 'ebb'"):
        adopt(ebb, into="harbour.home")
    with pytest.raises(ImportError):
        adopt(ebb, into="harbour.mountains")
