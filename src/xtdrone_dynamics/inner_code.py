"""The code of kernels that other kernels call, for these to take in: no machine code is made of it.

Nothing would call that, and making it takes Numba a quarter of a compilation.
"""

import ctypes
from typing import Any

from llvmlite import binding
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult, compile_result
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering

_NEVER_CALLED = ctypes.cast(ctypes.pythonapi.Py_IncRef, ctypes.c_void_p).value


class InnerCode(JITCodeLibrary):  # type: ignore[misc]  # Numba has no types
    """What other kernels take in."""

    @classmethod
    def read(cls, codegen: Any, name: str, bitcode: bytes) -> "InnerCode":
        """Reads what was kept."""
        code = cls(codegen, name)
        code._final_module = binding.parse_bitcode(bitcode)
        code._finalize_final_module()
        return code

    @property
    def codegen(self) -> "InnerCode":
        """In place of the engine, which knows nothing of it."""
        return self

    def set_env(self, name: str, environment: Any) -> None:  # as Numba's
        """Does nothing: the kernel that takes it in has a place of its own for that."""

    def get_pointer_to_function(self, name: str) -> int | None:  # as Numba's
        """Some address, since Numba wants one."""
        self._ensure_finalized()
        return _NEVER_CALLED

    def serialize_using_object_code(self) -> tuple[str, str, bytes]:  # as Numba's
        """What is kept."""
        self._ensure_finalized()
        return self.name, "bitcode", self._get_module_for_linking().as_bitcode()

    def _finalize_final_module(self) -> None:  # as Numba's
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _InnerLowering(NativeLowering):  # type: ignore[misc]  # as above
    _name = "inner_lowering"

    def run_pass(self, state: Any) -> bool:  # as Numba's
        """Makes the code."""
        state.library = InnerCode(state.targetctx.codegen(), state.func_id.func_qualname)
        return bool(super().run_pass(state))


class InnerCompiler(Compiler):  # type: ignore[misc]  # as above
    """Compiles a kernel for other kernels."""

    def define_pipelines(self) -> list[Any]:  # as Numba's
        """Numba's passes with one in place of another."""
        pipelines: list[Any] = super().define_pipelines()
        for pipeline in pipelines:
            pipeline.passes = [
                (_InnerLowering if each is NativeLowering else each, what)
                for each, what in pipeline.passes
            ]
        return pipelines


def read(target_context: Any, payload: Any) -> CompileResult:
    """The kernel of what was kept of it."""
    code, description, environment, signature, objectmode, lifted, annotation, *rest = payload
    reload_init, environments = rest
    for load in reload_init:
        load()
    library = InnerCode.read(target_context.codegen(), code[0], code[2])
    return compile_result(
        typing_context=target_context.typing_context,
        target_context=target_context,
        entry_point=target_context.get_executable(library, description, environment),
        type_annotation=annotation,
        signature=signature,
        objectmode=objectmode,
        lifted=lifted,
        fndesc=description,
        library=library,
        environment=environment,
        reload_init=reload_init,
        referenced_envs=environments,
    )
