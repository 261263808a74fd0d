"""Rules of attention."""

from __future__ import annotations

from compare.weights.rule import (
    Counterpart,
    Module,
    Rule,
    attributes_of_call,
    dtypes,
    flag,
    present,
    same,
    shape_if_any,
    shape_of,
)
from workloads.protocol.inspection import Plain
from workloads.protocol.transfer import SourceLayer

_PROJECTIONS = tuple(
    (f"{keras}/{leaf}", f"{flax}.{leaf}")
    for keras, flax in (("query", "query"), ("key", "key"), ("value", "value"), ("attention_output", "out"))
    for leaf in ("kernel", "bias")
)


def _attention(layer: SourceLayer, heads: Plain) -> Counterpart:
    query, key, out = (shape_of(layer, f"{name}/kernel") for name in ("query", "key", "attention_output"))
    sizes: dict[str, Plain] = {}
    if query and key and out:
        sizes = {
            "in_features": query[0],
            "in_kv_features": key[0],
            "qkv_features": query[-2] * query[-1],
            "num_kv_heads": key[-2],
            "out_features": out[-1],
        }
    module = Module(
        "nnx.MultiHeadAttention",
        {
            "num_heads": heads,
            **sizes,
            "use_bias": flag(layer, "use_bias"),
            "normalize_qk": False,
            "dropout_rate": layer.config.get("dropout", 0.0),
            **dtypes(layer),
        },
        advised={"broadcast_dropout": False} if layer.config.get("dropout") else {},
        constructed={"decode": False},
    )
    return Counterpart(
        module, carried=present(layer, same(*_PROJECTIONS)), unchecked=attributes_of_call(layer, "sliding_window")
    )


def _multi_head(layer: SourceLayer) -> Counterpart:
    return _attention(layer, layer.config.get("num_heads"))


def _grouped_query(layer: SourceLayer) -> Counterpart:
    return _attention(layer, layer.config.get("num_query_heads"))


def _additive(layer: SourceLayer) -> Counterpart:
    scale = shape_if_any(layer, "scale")
    module = Module(
        "jaxport.layers.AdditiveAttention",
        {"features": scale[0] if scale else None, "use_scale": True, "param_dtype": layer.variable_dtype},
    )
    return Counterpart(module, carried=same(("scale", "scale")))


def _of_one_head(layer: SourceLayer) -> Counterpart:
    module = Module(
        "jaxport.layers.Attention",
        {
            "use_scale": bool(layer.config.get("use_scale")),
            "score_mode": layer.config.get("score_mode"),
            "param_dtype": layer.variable_dtype,
        },
    )
    names = ("scale", "concat_score_weight")
    return Counterpart(module, carried=present(layer, same(*((name, name) for name in names))))


def _other_values(layer: SourceLayer) -> str:
    """The size of values, where it is another than that of keys: nnx.MultiHeadAttention has one for both."""
    key, value = layer.config.get("key_dim"), layer.config.get("value_dim")
    return f"value_dim={value}" if value not in (None, key) else ""


_PLAIN = {"use_gate": (False,), "sliding_window": (None,)}

ATTENTION = (
    Rule(
        "multi_head_attention", ("MultiHeadAttention",), _multi_head, {**_PLAIN, "attention_axes": (None, [1])},
        _other_values,
    ),
    Rule("grouped_query_attention", ("GroupQueryAttention", "GroupedQueryAttention"), _grouped_query, _PLAIN),
    Rule("attention_of_one_head", ("Attention",), _of_one_head, {"dropout": (0, 0.0)}),
    Rule("additive_attention", ("AdditiveAttention",), _additive, {"use_scale": (True,), "dropout": (0, 0.0)}),
)  # fmt: skip
