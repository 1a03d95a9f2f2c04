"""Figures to step through, alive in a notebook and in the built book."""

from lookback.widgets.alignment_stepper import AlignmentStepper
from lookback.widgets.quiz import Quiz
from lookback.widgets.softmax_stepper import SoftmaxStepper
from lookback.widgets.squeeze import Squeeze, pack

__all__ = ["AlignmentStepper", "Quiz", "SoftmaxStepper", "Squeeze", "pack"]
