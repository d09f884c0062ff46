"""Numbers of eight vehicles: kernels that compute with them run in the processor's vector unit.

A kernel that takes numbers works as it stands on numbers of eight vehicles, too: each operation
becomes one of the vector unit, with the same bits in each lane as the scalar one. What a kernel
decides by comparing such numbers, it decides for each lane, by chosen() and anywhere().

    blocks = lane_array(x)      # in a kernel: x (..., LANES) float64, read as an array (...)
    blocks[2] -= weight * blocks[3]
    blocks[4] = chosen(blocks[4] < most, blocks[4] + variance, blocks[4])
"""

import operator
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.datamodel import PrimitiveModel, register_default
from numba.core.imputils import impl_ret_borrowed, lower_builtin, lower_cast
from numba.core.typeconv import Conversion
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, overload
from numba.np.arrayobj import make_array, populate_array

LANES = 8  # vehicles in a number; one register of AVX-512, two of AVX2

_REALS = ir.VectorType(ir.DoubleType(), LANES)
_BITS = ir.VectorType(ir.IntType(1), LANES)


class LaneNumber(types.Type):
    """A number of each lane."""

    def can_convert_from(self, typingctx: Any, other: Any) -> Any:
        """A number that all lanes share."""
        return Conversion.promote if isinstance(other, types.Float) else None


class LaneTruth(types.Type):
    """Whether something holds, in each lane."""


lane_number, lane_truth = LaneNumber("lane_number"), LaneTruth("lane_truth")


@register_default(LaneNumber)
class _NumberModel(PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any):
        super().__init__(manager, kind, _REALS)


@register_default(LaneTruth)
class _TruthModel(PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any):
        super().__init__(manager, kind, _BITS)


@lower_cast(types.Float, LaneNumber)  # type: ignore[untyped-decorator]
def _spread(context: Any, builder: Any, given: Any, wanted: Any, value: Any) -> Any:
    """A number to all lanes."""
    value = context.cast(builder, value, given, types.float64)
    nothing = ir.Constant(_REALS, ir.Undefined)
    first = builder.insert_element(nothing, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(
        first, nothing, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    )


def _operator(of: Any, result: Any, build: Any) -> None:
    """An operator of two numbers, of which one may be shared by all lanes."""

    class Template(AbstractTemplate):  # type: ignore[misc]
        def generic(self, args: Any, kws: Any) -> Any:
            if lane_number in args and all(
                isinstance(each, (LaneNumber, types.Float)) for each in args
            ):
                return signature(result, lane_number, lane_number)
            return None

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return build(builder, *args)

    infer_global(of)(Template)
    lower_builtin(of, LaneNumber, LaneNumber)(lower)


for _name, _operation in (("add", "fadd"), ("sub", "fsub"), ("mul", "fmul"), ("truediv", "fdiv")):
    for _prefix in ("", "i"):
        _operator(
            getattr(operator, _prefix + _name), lane_number, getattr(ir.IRBuilder, _operation)
        )
for _name, _sign in (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="), ("eq", "==")):
    _operator(
        getattr(operator, _name),
        lane_truth,
        lambda builder, a, b, sign=_sign: builder.fcmp_ordered(sign, a, b),
    )
_operator(operator.ne, lane_truth, lambda builder, a, b: builder.fcmp_unordered("!=", a, b))


@infer_global(operator.neg)
class _Negation(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args: Any, kws: Any) -> Any:
        return signature(lane_number, lane_number) if args == (lane_number,) else None


@lower_builtin(operator.neg, LaneNumber)  # type: ignore[untyped-decorator]
def _negate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.fneg(args[0])


@intrinsic  # type: ignore[untyped-decorator]
def _select(typingctx: Any, where: Any, there: Any, elsewhere: Any) -> Any:
    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.select(*args)

    return lane_number(lane_truth, lane_number, lane_number), generate


@intrinsic  # type: ignore[untyped-decorator]
def _any(typingctx: Any, where: Any) -> Any:
    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        word = ir.IntType(LANES)
        return builder.icmp_unsigned("!=", builder.bitcast(args[0], word), ir.Constant(word, 0))

    return types.boolean(lane_truth), generate


def chosen(where: Any, there: Any, elsewhere: Any) -> Any:
    """One of two numbers, in each lane."""
    return there if where else elsewhere


def anywhere(where: Any) -> Any:
    """Whether something holds in any lane."""
    return where


@overload(chosen)  # type: ignore[untyped-decorator]
def _chosen(where: Any, there: Any, elsewhere: Any) -> Any:
    if where is lane_truth:

        def choose(where: Any, there: Any, elsewhere: Any) -> Any:
            return _select(where, there, elsewhere)

        return choose
    return chosen


@overload(anywhere)  # type: ignore[untyped-decorator]
def _anywhere(where: Any) -> Any:
    if where is lane_truth:

        def any_of(where: Any) -> Any:
            return _any(where)

        return any_of
    return anywhere


@intrinsic  # type: ignore[untyped-decorator]
def lane_array(typingctx: Any, x: Any) -> Any:
    """An array (..., LANES) of float64, contiguous, as an array (...) of numbers in lanes."""
    if not (isinstance(x, types.Array) and x.layout == "C" and x.dtype == types.float64):
        return None
    # Not aligned: the memory is that of an array of float64.
    result = types.Array(lane_number, x.ndim - 1, "C", aligned=False)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        given = make_array(x)(context, builder, args[0])
        made = make_array(result)(context, builder)
        pointer = context.get_data_type(lane_number).as_pointer()
        populate_array(
            made,
            data=builder.bitcast(given.data, pointer),
            shape=[builder.extract_value(given.shape, k) for k in range(x.ndim - 1)],
            strides=[builder.extract_value(given.strides, k) for k in range(x.ndim - 1)],
            itemsize=context.get_constant(types.intp, 8 * LANES),
            meminfo=given.meminfo,
            parent=given.parent,
        )
        return impl_ret_borrowed(context, builder, result, made._getvalue())

    return result(x), generate
