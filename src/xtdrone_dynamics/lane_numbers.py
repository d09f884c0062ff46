"""Numbers of eight vehicles: kernels that compute with them run in the processor's vector unit.

A kernel that takes numbers works as it stands on numbers of eight vehicles, too: each operation
becomes one of the vector unit, with the same bits in each lane as the scalar one. What a kernel
decides by comparing such numbers, it decides for each lane, by chosen() and anywhere().

    blocks = lane_array(x)      # in a kernel: x (..., LANES) float64, read as an array (...)
    blocks[2] -= weight * blocks[3]
    blocks[4] = chosen(blocks[4] < most, blocks[4] + variance, blocks[4])
"""

import operator
from collections.abc import Callable
from typing import Any, TypeAlias

from llvmlite import ir
from numba.core import types
from numba.core.datamodel import PrimitiveModel, register_default
from numba.core.imputils import impl_ret_borrowed, lower_builtin, lower_cast
from numba.core.typeconv import Conversion
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, overload
from numba.np.arrayobj import make_array, populate_array

Compiler: TypeAlias = Any  # a part of Numba's compiler, which has no annotations
Number: TypeAlias = Any  # a float, or a number for each lane
Truth: TypeAlias = Any  # a bool, or one for each lane

LANES = 8  # vehicles in a number; one register of AVX-512, two of AVX2

_REALS = ir.VectorType(ir.DoubleType(), LANES)
_BITS = ir.VectorType(ir.IntType(1), LANES)


class LaneNumber(types.Type):
    """A number of each lane."""

    def can_convert_from(self, typingctx: Compiler, other: Compiler) -> Compiler:
        """A number that all lanes share."""
        return Conversion.promote if isinstance(other, types.Float) else None


class LaneTruth(types.Type):
    """Whether something holds, in each lane."""


lane_number, lane_truth = LaneNumber("lane_number"), LaneTruth("lane_truth")


@register_default(LaneNumber)
class _NumberModel(PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Compiler, kind: Compiler):
        super().__init__(manager, kind, _REALS)


@register_default(LaneTruth)
class _TruthModel(PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Compiler, kind: Compiler):
        super().__init__(manager, kind, _BITS)


@lower_cast(types.Float, LaneNumber)  # type: ignore[untyped-decorator]
def _spread(
    context: Compiler, builder: Compiler, given: Compiler, wanted: Compiler, value: Compiler
) -> Compiler:
    """A number to all lanes."""
    value = context.cast(builder, value, given, types.float64)
    nothing = ir.Constant(_REALS, ir.Undefined)
    first = builder.insert_element(nothing, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(
        first, nothing, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    )


def _operator(of: Callable[..., object], result: Compiler, build: Callable[..., Compiler]) -> None:
    """An operator of two numbers, of which one may be shared by all lanes."""

    class Template(AbstractTemplate):  # type: ignore[misc]
        def generic(self, args: Compiler, kws: Compiler) -> Compiler:
            if lane_number in args and all(
                isinstance(each, (LaneNumber, types.Float)) for each in args
            ):
                return signature(result, lane_number, lane_number)
            return None

    def lower(context: Compiler, builder: Compiler, sig: Compiler, args: Compiler) -> Compiler:
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
    def generic(self, args: Compiler, kws: Compiler) -> Compiler:
        return signature(lane_number, lane_number) if args == (lane_number,) else None


@lower_builtin(operator.neg, LaneNumber)  # type: ignore[untyped-decorator]
def _negate(context: Compiler, builder: Compiler, sig: Compiler, args: Compiler) -> Compiler:
    return builder.fneg(args[0])


@intrinsic  # type: ignore[untyped-decorator]
def _select(typingctx: Compiler, where: Compiler, there: Compiler, elsewhere: Compiler) -> Compiler:
    def generate(context: Compiler, builder: Compiler, sig: Compiler, args: Compiler) -> Compiler:
        return builder.select(*args)

    return lane_number(lane_truth, lane_number, lane_number), generate


@intrinsic  # type: ignore[untyped-decorator]
def _any(typingctx: Compiler, where: Compiler) -> Compiler:
    def generate(context: Compiler, builder: Compiler, sig: Compiler, args: Compiler) -> Compiler:
        word = ir.IntType(LANES)
        return builder.icmp_unsigned("!=", builder.bitcast(args[0], word), ir.Constant(word, 0))

    return types.boolean(lane_truth), generate


def chosen(where: Truth, there: Number, elsewhere: Number) -> Number:
    """One of two numbers, in each lane."""
    return there if where else elsewhere


def anywhere(where: Truth) -> Truth:
    """Whether something holds in any lane."""
    return where


@overload(chosen)  # type: ignore[untyped-decorator]
def _chosen(where: Compiler, there: Compiler, elsewhere: Compiler) -> Compiler:
    if where is lane_truth:

        def choose(where: Truth, there: Number, elsewhere: Number) -> Number:
            return _select(where, there, elsewhere)

        return choose
    return chosen


@overload(anywhere)  # type: ignore[untyped-decorator]
def _anywhere(where: Compiler) -> Compiler:
    if where is lane_truth:

        def any_of(where: Truth) -> Truth:
            return _any(where)

        return any_of
    return anywhere


@intrinsic  # type: ignore[untyped-decorator]
def lane_array(typingctx: Compiler, x: Compiler) -> Compiler:
    """An array (..., LANES) of float64, contiguous, as an array (...) of numbers in lanes."""
    if not (isinstance(x, types.Array) and x.layout == "C" and x.dtype == types.float64):
        return None
    # Not aligned: the memory is that of an array of float64.
    result = types.Array(lane_number, x.ndim - 1, "C", aligned=False)

    def generate(context: Compiler, builder: Compiler, sig: Compiler, args: Compiler) -> Compiler:
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
