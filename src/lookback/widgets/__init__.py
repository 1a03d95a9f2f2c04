"""Figures to step through, alive in a notebook and in the built book."""

from lookback.widgets.alignment_stepper import AlignmentStepper
from lookback.widgets.by_hand import ByHand
from lookback.widgets.cache_size import CacheSize
from lookback.widgets.clocks import Clocks
from lookback.widgets.copier import Copier
from lookback.widgets.dataflow import Dataflow
from lookback.widgets.depth import Depth
from lookback.widgets.fill_in import FillIn
from lookback.widgets.flash_tiles import FlashTiles
from lookback.widgets.handwriting import Handwriting
from lookback.widgets.heads import Heads
from lookback.widgets.lattice import Lattice
from lookback.widgets.learning import Learning
from lookback.widgets.lib.half import pack
from lookback.widgets.likeness import Likeness
from lookback.widgets.lookup import Lookup
from lookback.widgets.masks import Masks
from lookback.widgets.one_matrix import OneMatrix
from lookback.widgets.other_weights import OtherWeights
from lookback.widgets.parameter_budget import ParameterBudget
from lookback.widgets.peephole import Peephole
from lookback.widgets.quiz import Quiz
from lookback.widgets.relay import Relay
from lookback.widgets.rungs import Rungs
from lookback.widgets.saturation import Saturation
from lookback.widgets.serial_wall import SerialWall
from lookback.widgets.shuffle import Shuffle
from lookback.widgets.softmax_stepper import SoftmaxStepper
from lookback.widgets.squeeze import Squeeze
from lookback.widgets.story import Story
from lookback.widgets.swaps import Swaps
from lookback.widgets.tape_head import TapeHead
from lookback.widgets.translate import Translate
from lookback.widgets.which_word import WhichWord
from lookback.widgets.write_on import WriteOn

__all__ = [
    "AlignmentStepper",
    "ByHand",
    "CacheSize",
    "Clocks",
    "Copier",
    "Dataflow",
    "Depth",
    "FillIn",
    "FlashTiles",
    "Handwriting",
    "Heads",
    "Lattice",
    "Learning",
    "Likeness",
    "Lookup",
    "Masks",
    "OneMatrix",
    "OtherWeights",
    "ParameterBudget",
    "Peephole",
    "Quiz",
    "Relay",
    "Rungs",
    "Saturation",
    "SerialWall",
    "Shuffle",
    "SoftmaxStepper",
    "Squeeze",
    "Story",
    "Swaps",
    "TapeHead",
    "Translate",
    "WhichWord",
    "WriteOn",
    "pack",
]
