"""Examples of operations on elements: each of them, and what its attributes change."""

from __future__ import annotations

from judged_rules import Example, of

_REAL = "f32[2,3]"
_ANYWHERE = (
    "Asinh", "Atan", "Ceil", "Cos", "Cosh", "Elu", "Erf", "Erfc", "Exp", "Expm1", "Floor", "IsFinite", "IsInf", "IsNan",
    "Neg", "Reciprocal", "Inv", "Relu", "Relu6", "Rint", "Round", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus",
    "Softsign", "Square", "Tan", "Tanh", "BesselI0e", "BesselI1e", "ZerosLike", "OnesLike", "Softmax", "LogSoftmax",
    "L2Loss", "Abs", "Selu", "Snapshot", "Log", "Log1p", "Sqrt", "Rsqrt", "Digamma", "Lgamma",
)  # fmt: skip
_COMPLEX = ("Acos", "Asin", "Asinh", "Atan", "Atanh", "Cos", "Cosh", "Exp", "Expm1", "Log", "Log1p", "Neg",
            "Reciprocal", "Rsqrt", "Sigmoid", "Sign", "Sin", "Sinh", "Sqrt", "Square", "Tan", "Tanh")  # fmt: skip
_BOTH = ("Add", "AddV2", "Sub", "Mul", "RealDiv", "SquaredDifference", "Equal", "NotEqual", "Less", "LessEqual",
         "Greater", "GreaterEqual", "Maximum", "Minimum", "DivNoNan", "MulNoNan", "FloorDiv", "FloorMod", "Div", "Pow",
         "Atan2", "TruncateMod", "Mod")  # fmt: skip
_OF_WHOLE = ("Add", "AddV2", "Sub", "Mul", "SquaredDifference", "Equal", "Less", "Maximum", "Minimum", "FloorDiv",
             "FloorMod", "Div", "TruncateDiv", "TruncateMod", "Mod", "Pow", "BitwiseAnd", "BitwiseOr", "BitwiseXor",
             "LeftShift", "RightShift")  # fmt: skip
_BACKWARD = ("TanhGrad", "SigmoidGrad", "RsqrtGrad", "SqrtGrad", "ReluGrad", "SoftplusGrad", "ReciprocalGrad")

EXAMPLES: tuple[Example, ...] = (
    *(of(each, _REAL) for each in _ANYWHERE),
    *(of(each, "c64[2,3]", kinks=False) for each in _COMPLEX),
    *(of(each, f"{_REAL}:-0.9..0.9") for each in ("Acos", "Asin", "Atanh", "Erfinv")),
    of("Acosh", f"{_REAL}:1.1..3.0"),
    of("Acosh", "c64[2,3]", left="another branch"),
    of("Lgamma", f"{_REAL}:0.5..3.0", kinks=False),
    of("Digamma", f"{_REAL}:0.5..3.0", kinks=False),
    *(of(each, _REAL, "f32[3]") for each in _BOTH),
    *(of(each, _REAL, 2.0) for each in _BOTH),
    *(of(each, -1.5, _REAL) for each in _BOTH),
    *(of(each, "i32[2,3]:-9..9", "i32[3]:1..4") for each in _OF_WHOLE),
    *(of(each, "i32[2,3]:-9..9", "i32[3]:-4..-1") for each in ("FloorDiv", "FloorMod", "TruncateDiv", "TruncateMod")),
    *(
        of(each, "c64[2,3]", "c64[3]", kinks=False)
        for each in ("Add", "Sub", "Mul", "RealDiv", "SquaredDifference", "Pow", "DivNoNan", "Equal")
    ),
    *(
        of(each, "u8[2,3]:1..200", "u8[3]:1..9")
        for each in ("Add", "Sub", "Mul", "FloorDiv", "BitwiseAnd", "LeftShift", "Maximum")
    ),
    *(of(each, _REAL, _REAL, kinks=each not in ("SqrtGrad", "RsqrtGrad")) for each in _BACKWARD),
    of("Invert", "i32[2,3]:-9..9"),
    of("Invert", "u8[2,3]:0..9"),
    of("LogicalNot", "bool[2,3]"),
    *(
        of(each, "i32[2,3]:-9..9")
        for each in ("Neg", "Sign", "Square", "Abs", "Relu", "Relu6", "ZerosLike", "OnesLike", "Snapshot")
    ),
    *(of(each, "bool[2,3]") for each in ("ZerosLike", "OnesLike")),
    *(of(each, "bool[2,3]", "bool[3]") for each in ("LogicalAnd", "LogicalOr", "Equal", "NotEqual")),
    of("NextAfter", _REAL, _REAL, follows=False, gradients=False),
    of("Complex", _REAL, _REAL, follows=False),
    of("Conj", "c64[2,3]"),
    *(of(each, "c64[2,3]", follows=False, kinks=False) for each in ("Real", "Imag", "ComplexAbs", "Angle")),
    of("Xlogy", _REAL, f"{_REAL}:0.1..3.0"),
    of("Xlog1py", _REAL, f"{_REAL}:0.1..3.0"),
    of("Igamma", f"{_REAL}:0.5..3.0", f"{_REAL}:0.5..3.0", kinks=False),
    of("Igammac", f"{_REAL}:0.5..3.0", f"{_REAL}:0.5..3.0", kinks=False),
    of("SelectV2", "bool[3]", _REAL, _REAL),
    of("SelectV2", "bool[2,3]", "f32[3]", 0.5),
    *(of("Select", chosen, _REAL, _REAL) for chosen in ("bool[2]", "bool[2,3]", "bool[]")),
    of("ClipByValue", _REAL, -0.5, 1.0),
    of("ClipByValue", _REAL, "f32[]", "f32[]"),
    of("ClipByValue", "i32[2,3]:-9..9", -2, 3),
    of("Pow", f"{_REAL}:0.1..3.0", "f32[3]"),
    of("Pow", "c64[2,3]", 2.0, kinks=False, follows=False),
    of("Pow", _REAL, 3.0),
    of("Pow", _REAL, -2.0),
    of("Pow", f"{_REAL}:0.1..3.0", 0.5),
    of("Pow", _REAL, 0.0),
    of("Pow", 2.0, _REAL),
    of("Pow", "i32[2,3]:-3..3", 3),
    of("Cast", _REAL, DstT="bfloat16", Truncate=True, left="truncates"),
    *(of(each, _REAL, "f32[3]", incompatible_shape_error=False) for each in ("Equal", "NotEqual")),
    of("Cast", _REAL, DstT="int32"),
    of("Cast", _REAL, DstT="bool"),
    of("Cast", "i32[2,3]:-9..9", DstT="float32"),
    of("Cast", "c64[2,3]", DstT="float32"),
    of("Cast", "bool[2,3]", DstT="int64"),
    of("Cast", "f32[2,3]:0.0..200.0", DstT="uint8"),
    of("Cast", "i32[2,3]:-900..900", DstT="int8"),
    of("Cast", _REAL, DstT="bfloat16"),
    of("Cast", _REAL, DstT="complex64"),
    of("Cast", _REAL, DstT="float64"),
    of("LeakyRelu", _REAL),
    of("LeakyRelu", _REAL, alpha=0.1),
    of("BiasAdd", "f32[2,4,5,3]", "f32[3]"),
    of("BiasAdd", "f32[2,3,4,5]", "f32[3]", data_format="NCHW"),
    of("AddN", [_REAL, _REAL, _REAL]),
    of("EnsureShape", _REAL, shape=[2, 3]),
    of("PlaceholderWithDefault", _REAL, shape=[2, 3]),
    of("CheckNumerics", _REAL, message="bad"),
    of("CheckNumericsV2", _REAL, message="bad"),
    of("Bitcast", "f32[2,3]", type="int32", follows=False, kinks=False),
    of("Bitcast", "i32[2,3]", type="uint8"),
    of("Bitcast", "u8[3,4]", type="int32"),
    of("Xdivy", _REAL, f"{_REAL}:0.5..3.0"),
    of("Zeta", f"{_REAL}:1.5..3.0", f"{_REAL}:0.5..3.0", kinks=False),
    of("Polygamma", [[1.0], [2.0]], f"{_REAL}:0.5..3.0", kinks=False),
    of("Ndtri", f"{_REAL}:0.1..0.9", kinks=False),
    of("BesselI0", _REAL),
    of("BesselI1", _REAL, kinks=False),  # at 0 TensorFlow has 1 for the gradient, and not 1/2
    of("StopGradient", _REAL),
    of("PopulationCount", "i32[2,3]:-9..9"),
    of("Betainc", *[f"{_REAL}:0.5..3.0"] * 2, f"{_REAL}:0.1..0.9", kinks=False, gradients=False),
    of("SparseSoftmaxCrossEntropyWithLogits", _REAL, "i32[2]:0..3"),
)
