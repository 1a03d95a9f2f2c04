r"""The feed-forward network: what every position does on its own.

Vaswani et al. 2017, arXiv 1706.03762, section 3.3.

    FFN(x) = max(0, x W_1 + b_1) W_2 + b_2                         eq. 2

Read as a memory (Geva et al. 2021, arXiv 2012.14913), with k_i the i-th
column of W_1 and v_i the i-th row of W_2, and without biases:

    FFN(x) = Σ_i f(x · k_i) v_i

which is attention over fixed keys and values, with f for exp, and without the
division. SwiGLU (Shazeer 2020) gates one half of the hidden layer with the
other: (Swish(x W_1) ∘ x W_3) W_2.
"""

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu, "swiglu": F.silu}


class FeedForward(nn.Module):
    """An MLP: two linear maps, an activation function between them.

    It is position-wise, the same for each vector along the last axis.
    """

    def __init__(self, d_model: int, d_ff: int, activation: str = "relu"):
        super().__init__()
        if activation not in ACTIVATIONS:
            raise ValueError(
                f"activation is {activation!r}: choose one of"
                f" {', '.join(ACTIVATIONS)}"
            )
        self.activation = activation
        self.W_1 = nn.Linear(d_model, d_ff)  # row i is the key k_i
        self.W_2 = nn.Linear(d_ff, d_model)  # column i is the value v_i
        if activation == "swiglu":
            self.W_3 = nn.Linear(d_model, d_ff)

    def forward(
        self, x: Float[Tensor, "*batch d_model"]
    ) -> Float[Tensor, "*batch d_model"]:
        """f(x W_1 + b_1) W_2 + b_2, or the gated form."""
        hidden = ACTIVATIONS[self.activation](self.W_1(x))
        if self.activation == "swiglu":
            hidden = hidden * self.W_3(x)
        return self.W_2(hidden)


def as_memory(
    layer: FeedForward, x: Float[Tensor, "*batch d_model"]
) -> tuple[
    Float[Tensor, "d_ff d_model"],
    Float[Tensor, "d_ff d_model"],
    Float[Tensor, "*batch d_ff"],
]:
    """Keys k_i, values v_i, and the activation of each hidden unit.

    FFN(x) = Σ_i weights_i v_i + b_2, with weights_i = f(x · k_i + b_1i).
    """
    keys, values = layer.W_1.weight, layer.W_2.weight.T
    weights = ACTIVATIONS[layer.activation](x @ keys.T + layer.W_1.bias)
    if layer.activation == "swiglu":
        weights = weights * layer.W_3(x)
    return keys, values, weights
