"""Rules of recurrent layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from compare.weights.rule import (
    Argument,
    Carried,
    Counterpart,
    Module,
    Rule,
    attributes_of_call,
    dtypes,
    present,
    same,
    shape_of,
)
from compare.weights.transforms import Split
from workloads.protocol.inspection import Plain
from workloads.protocol.transfer import STATES, SourceLayer

Cell = Callable[[SourceLayer, str], Counterpart]
"""(a layer, what its leaves' names begin with) -> the counterpart of its cell."""

_GATES = ("i", "f", "g", "o")


def _functions(layer: SourceLayer, *names: str) -> Mapping[str, Plain]:
    keras = {"activation_fn": "activation", "gate_fn": "recurrent_activation"}
    return {name: layer.config.get(keras[name]) for name in names}


def _sizes(layer: SourceLayer, leaf: str) -> dict[str, Argument]:
    kernel = shape_of(layer, leaf)
    return {"in_features": kernel[0], "hidden_features": layer.config.get("units")} if kernel else {}


def _optimized_lstm(layer: SourceLayer, prefix: str) -> Counterpart:
    functions = _functions(layer, "activation_fn", "gate_fn")
    module = Module("nnx.OptimizedLSTMCell", {**_sizes(layer, f"{prefix}kernel"), **functions, **dtypes(layer)})
    return Counterpart(
        module,
        carried=same(
            (f"{prefix}kernel", "dense_i.kernel"),
            (f"{prefix}recurrent_kernel", "dense_h.kernel"),
            (f"{prefix}bias", "dense_h.bias"),
        ),
    )


def _split_lstm(layer: SourceLayer, prefix: str) -> Counterpart:
    functions = _functions(layer, "activation_fn", "gate_fn")
    module = Module("nnx.LSTMCell", {**_sizes(layer, f"{prefix}kernel"), **functions, **dtypes(layer)})
    inputs = tuple(f"{'if_' if gate == 'f' else f'i{gate}'}.kernel" for gate in _GATES)
    return Counterpart(
        module,
        carried=(
            Carried(f"{prefix}kernel", inputs, Split(1, 4)),
            Carried(f"{prefix}recurrent_kernel", tuple(f"h{gate}.kernel" for gate in _GATES), Split(1, 4)),
            Carried(f"{prefix}bias", tuple(f"h{gate}.bias" for gate in _GATES), Split(0, 4)),
        ),
    )


def _simple(layer: SourceLayer, prefix: str) -> Counterpart:
    module = Module(
        "nnx.SimpleCell",
        {
            **_sizes(layer, f"{prefix}kernel"),
            **_functions(layer, "activation_fn"),
            "residual": False,
            **dtypes(layer),
        },
    )
    return Counterpart(
        module,
        carried=same(
            (f"{prefix}kernel", "dense_i.kernel"),
            (f"{prefix}recurrent_kernel", "dense_h.kernel"),
            (f"{prefix}bias", "dense_i.bias"),
        ),
    )


def _gru(layer: SourceLayer, prefix: str) -> Counterpart:
    module = Module(
        "jaxport.layers.GRUCell",
        {
            **_sizes(layer, f"{prefix}kernel"),
            "reset_after": layer.config.get("reset_after"),
            "use_bias": layer.config.get("use_bias"),
            **_functions(layer, "activation_fn", "gate_fn"),
            **dtypes(layer),
        },
    )
    names = ("kernel", "recurrent_kernel", "bias")
    return Counterpart(module, carried=present(layer, same(*((f"{prefix}{name}", name) for name in names))))


def _convolutional(layer: SourceLayer, prefix: str) -> Counterpart:
    kernel = shape_of(layer, f"{prefix}kernel")
    module = Module(
        "jaxport.layers.ConvLSTMCell",
        {
            "in_features": kernel[-2] if kernel else None,
            "hidden_features": layer.config.get("filters"),
            "kernel_size": list(kernel[:-2]),
            "strides": layer.config.get("strides"),
            "padding": str(layer.config.get("padding")).upper(),
            "use_bias": layer.config.get("use_bias"),
            **_functions(layer, "activation_fn", "gate_fn"),
            "param_dtype": layer.variable_dtype,
        },
    )
    names = ("kernel", "recurrent_kernel", "bias")
    return Counterpart(module, carried=present(layer, same(*((f"{prefix}{name}", name) for name in names))))


def _of_cell(cell: Cell) -> Callable[[SourceLayer], Counterpart]:
    return lambda layer: cell(layer, "")


def _of_layer(cell: Cell, prefix: str) -> Callable[[SourceLayer], Counterpart]:
    """The counterpart of a whole layer: its cell in an nnx.RNN."""

    def counterpart(layer: SourceLayer) -> Counterpart:
        inner = cell(layer, prefix)
        assert inner.module is not None
        within, module = ("cell.cell", _dropping(layer, inner.module)) if _drops(layer) else ("cell", inner.module)
        ways = tuple(
            Carried(way.leaf, tuple(f"{within}.{name}" for name in way.variables), way.transform)
            for way in inner.carried
        )
        return Counterpart(
            _rnn(layer, module), carried=(*present(layer, ways), *_states(layer)), unchecked=_outside(layer)
        )

    return counterpart


def _drops(layer: SourceLayer) -> bool:
    return bool(layer.config.get("dropout") or layer.config.get("recurrent_dropout"))


def _dropping(layer: SourceLayer, cell: Module) -> Module:
    """The cell with what it drops in training."""
    rates = {"input_rate": layer.config.get("dropout"), "state_rate": layer.config.get("recurrent_dropout")}
    return Module("jaxport.recurrent_dropout.DroppingCell", {"cell": cell}, advised=rates)


def _undroppable(layer: SourceLayer) -> str:
    """Why no DroppingCell replaces the layer; "" if one does."""
    for name in ("dropout", "recurrent_dropout"):
        if layer.config.get(name) and (layer.compute_dtype != layer.variable_dtype or layer.config.get(name) == 1):
            return f"{name}={layer.config[name]} in {layer.compute_dtype}"
    return ""


def _rnn(layer: SourceLayer, cell: Module | None) -> Module:
    arguments: dict[str, Argument] = {"cell": cell} if cell else {}
    # Of a layer in a Bidirectional, which turns the steps round itself, the attribute is taken away.
    backwards = layer.config.get("go_backwards")
    arguments |= {} if backwards is None else {"reverse": backwards, "keep_order": False}
    arguments |= {"time_major": False}
    if not layer.config.get("stateful"):
        return Module("nnx.RNN", arguments)
    shapes: Plain = [list(leaf.shape) for leaf in layer.leaves if leaf.is_state]
    return Module(
        "jaxport.stateful.StatefulRNN", {**arguments, "state_shapes": shapes, "param_dtype": layer.variable_dtype}
    )


def _states(layer: SourceLayer) -> tuple[Carried, ...]:
    """The states that a stateful layer carries from call to call."""
    return same(*((leaf.name, f"state_{leaf.name.removeprefix(STATES)}") for leaf in layer.leaves if leaf.is_state))


def _outside(layer: SourceLayer) -> tuple[str, ...]:
    attributes = attributes_of_call(layer, "return_state", "zero_output_for_mask")
    last = () if layer.config.get("return_sequences") else ("return_sequences=False",)
    return (*last, *attributes)


def _rnn_around(layer: SourceLayer) -> Counterpart:
    return Counterpart(_rnn(layer, None), carried=_states(layer), steps={"cell": "cell"}, unchecked=_outside(layer))


def _stacked_cells(layer: SourceLayer) -> Counterpart:
    cells: Any = layer.config.get("cells") or ()
    return Counterpart(
        Module("jaxport.layers.StackedCells"), steps={f"cells/{index}": f"cell_{index}" for index in range(len(cells))}
    )


def _bidirectional(layer: SourceLayer) -> Counterpart:
    backwards: Mapping[str, Plain] = {"go_backwards": None}
    merge = _MERGED.get(str(mode) if (mode := layer.config.get("merge_mode")) is not None else None)
    return Counterpart(
        Module("nnx.Bidirectional", {"merge_fn": merge, "time_major": False}),
        steps={"forward_layer": "forward_rnn", "backward_layer": "backward_rnn"},
        within={"forward_layer": backwards, "backward_layer": backwards},
    )


_MERGED: Mapping[Plain, str] = {
    "concat": "_concatenate", "sum": "add", "mul": "multiply", "ave": "average", None: "apart"
}  # fmt: skip
"""By Keras' name, that of the function which joins the outputs of both directions."""

_WITH_BIAS = {"use_bias": (True,), "recurrent_dropout": (0, 0.0), "dropout": (0, 0.0)}
_GRU = {"recurrent_dropout": (0, 0.0), "dropout": (0, 0.0)}
_CONVOLUTIONAL = {
    **_GRU,
    "data_format": ("channels_last", None),
    "dilation_rate": (1, [1], [1, 1], [1, 1, 1]),
}

RECURRENT = (
    Rule("lstm", ("LSTM",), _of_layer(_optimized_lstm, "lstm_cell/"), {"use_bias": (True,)}, _undroppable),
    Rule("lstm_of_split_gates", ("LSTM",), _of_layer(_split_lstm, "lstm_cell/"), _WITH_BIAS),
    Rule("lstm_cell", ("LSTMCell",), _of_cell(_optimized_lstm), _WITH_BIAS),
    Rule("lstm_cell_of_split_gates", ("LSTMCell",), _of_cell(_split_lstm), _WITH_BIAS),
    Rule("simple_rnn", ("SimpleRNN",), _of_layer(_simple, "simple_rnn_cell/"), {"use_bias": (True,)}, _undroppable),
    Rule("simple_rnn_cell", ("SimpleRNNCell",), _of_cell(_simple), _WITH_BIAS),
    Rule("gru", ("GRU",), _of_layer(_gru, "gru_cell/"), unless=_undroppable),
    Rule("gru_cell", ("GRUCell",), _of_cell(_gru), _GRU),
    Rule(
        "convolutional_lstm",
        ("ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D"),
        _of_layer(_convolutional, "conv_lstm_cell/"),
        _CONVOLUTIONAL,
    ),
    Rule("rnn", ("RNN",), _rnn_around),
    Rule("stacked_cells", ("StackedRNNCells",), _stacked_cells),
    Rule("bidirectional", ("Bidirectional",), _bidirectional, {"merge_mode": tuple(_MERGED)}),
)
