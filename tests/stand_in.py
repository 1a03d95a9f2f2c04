"""A stand-in for a GPU: tensors that say "cuda" and are kept apart.

Where there is no GPU, a notebook is run with this module imported first. Then
`lab.training.device()` is `cuda`; what is sent there stays in the CPU's memory,
but says that it is on `cuda`, and as on a GPU it is an error to mix it with a
tensor that is not, or to draw it without `.cpu()`.  `COUNT` says how many
operations ran there, `WAITS` how often the CPU would have waited for them.
"""

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten, tree_map

CUDA = torch.device("cuda", 0)
COUNT = WAITS = 0
READ = {  # what the CPU learns of a tensor, or has to know to go on
    "item",
    "tolist",
    "__bool__",
    "__int__",
    "__float__",
    "__index__",
    "nonzero",
    "masked_select",
    "unique",
    "equal",
    "allclose",
}
# Torch wants or allows tensors of the CPU here, beside those of the GPU.
MIXED = {
    "_pack_padded_sequence",
    "pack_padded_sequence",
    "pad_packed_sequence",
    "_pad_packed_sequence",
    "__getitem__",
    "__setitem__",
    "index_put_",
    "copy_",
    "_has_compatible_shallow_copy_type",
}


def there(tensor) -> bool:
    """Whether the tensor is said to be on the GPU."""
    return getattr(tensor, "_there", False)


def _is_cuda(place) -> bool:
    return place is not None and torch.device(place).type == "cuda"


class StandIn(TorchFunctionMode):
    """Answers for the GPU; everything is computed on the CPU."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        global COUNT, WAITS
        kwargs = dict(kwargs or {})
        name = getattr(function, "__name__", "")
        if function == torch.Tensor.device.__get__:
            return CUDA if there(args[0]) else function(*args)
        if function == torch.Tensor.is_cuda.__get__:
            return there(args[0])
        tensors = [
            each
            for each in tree_flatten((args, kwargs))[0]
            if isinstance(each, torch.Tensor)
        ]
        gpu = any(map(there, tensors))
        if name == "pin_memory":
            return args[0]
        if gpu and name in READ:
            WAITS += 1
        if name == "tensor" and _is_cuda(kwargs.get("device")):
            WAITS += 1  # for the copy of it
        if name == "__set__":  # of .data, say: the new one's place
            function(*args, **kwargs)
            if isinstance(args[-1], torch.Tensor):
                args[0]._there = there(args[-1])
            return None
        if name in ("to", "cuda", "cpu", "type_as"):
            return self._moved(function, name, args, kwargs, gpu)
        if name == "numpy" and gpu:
            raise TypeError(
                "can't convert cuda:0 device type tensor to numpy. Use"
                " Tensor.cpu() to copy the tensor to host memory first."
            )
        if "device" in kwargs:
            if "generator" in kwargs and _is_cuda(kwargs["device"]):
                raise RuntimeError("a generator of the CPU, a tensor on cuda")
            gpu = gpu or _is_cuda(kwargs["device"])
            if _is_cuda(kwargs["device"]):
                kwargs["device"] = "cpu"
        elif gpu and name not in MIXED:
            # The lengths of a packed batch stay on the CPU.
            packed = name in ("gru", "lstm")
            strangers = [
                each
                for each in tensors
                if not there(each)
                and each.dim()
                and not (packed and each.dtype == torch.int64)
            ]
            if strangers and any(t.dim() for t in tensors if there(t)):
                raise RuntimeError(
                    f"{name}: expected all tensors to be on the same device,"
                    " but found at least two devices, cuda:0 and cpu!"
                )
        result = function(*args, **kwargs)
        if gpu:
            COUNT += 1
            packed = name == "_pack_padded_sequence"
            _mark(result[0] if packed else result)
            if name.endswith("_"):
                _mark(args[0])
        return result

    def _moved(self, function, name, args, kwargs, gpu):
        global WAITS
        places = [kwargs.get("device"), *args[1:]]
        goal = next(
            (p for p in places if isinstance(p, (str, torch.device))), None
        )
        goal = {"cuda": CUDA, "cpu": torch.device("cpu")}.get(name, goal)
        if goal is None:  # another type, or like another tensor
            other = [p for p in places if isinstance(p, torch.Tensor)]
            on = there(other[0]) if other else gpu
            result = function(*args, **kwargs)
        else:
            on = _is_cuda(goal)
            swap = lambda p: (  # noqa: E731
                torch.device("cpu") if isinstance(p, (str, torch.device)) else p
            )
            kwargs = {k: swap(v) for k, v in kwargs.items()}
            if name == "cuda":
                function, args = torch.Tensor.cpu, args[:1]
            args = (args[0], *map(swap, args[1:]))
            result = function(*args, **kwargs)
        if on != gpu and not kwargs.get("non_blocking"):
            WAITS += 1
        if on != gpu and result is args[0]:
            result = result.clone() if not result.requires_grad else result * 1
        result._there = on
        return result


def _here(place):
    """The CPU in the place of any device."""
    return "cpu" if isinstance(place, (str, torch.device)) else place


def _mark(result):
    def mark(part):
        if isinstance(part, torch.Tensor):
            part._there = True
        return part

    tree_map(mark, result)


def install():
    """From now on there is a GPU."""
    from lookback.experiments import serial
    from lookback.lab import training

    training.device = lambda: CUDA
    torch.cuda.synchronize = lambda *_: None
    torch.backends.cudnn.is_acceptable = lambda _: False
    whole = serial.over_lengths

    def shortest(lengths, *more):
        """The long sequences would take this CPU minutes."""
        rows = whole(lengths[:2], *more)
        rest = len(lengths) - 2
        return {name: row + row[-1:] * rest for name, row in rows.items()}

    serial.over_lengths = shortest
    StandIn().__enter__()
