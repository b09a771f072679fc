"""What kernels ask of Numba's run-time library, small enough to go with each of them.

A kernel that makes an array asks for a block of memory with a header that counts its users, and to
be rid of it when there are none; one that reshapes an array asks for the strides. Numba's own
answers lie inside its extension modules. These are the same, in LLVM's language; only contiguous
arrays are reshaped, and the others refused.
"""

from __future__ import annotations

from functools import cache

import llvmlite.binding as llvm

_SOURCE = """
declare ptr @malloc(i64)
declare void @free(ptr)
declare i64 @llvm.smax.i64(i64, i64)

define ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %align) {
  %wide = zext i32 %align to i64
  %spare = add i64 %wide, 48
  %room = add i64 %spare, %size
  %block = call ptr @malloc(i64 %room)
  %nothing = icmp eq ptr %block, null
  br i1 %nothing, label %out, label %in
in:
  %address = ptrtoint ptr %block to i64
  %behind = add i64 %address, %spare
  %mask = sub i64 0, %wide
  %data = and i64 %behind, %mask
  %header = insertvalue [6 x i64] [i64 1, i64 0, i64 0, i64 0, i64 0, i64 0], i64 %data, 3
  %filled = insertvalue [6 x i64] %header, i64 %size, 4
  store [6 x i64] %filled, ptr %block
  ret ptr %block
out:
  ret ptr null
}

define void @NRT_MemInfo_call_dtor(ptr %block) {
  call void @free(ptr %block)
  ret void
}

define i32 @numba_attempt_nocopy_reshape(i64 %old_ndim, ptr %old_shape, ptr %old_strides,
    i64 %new_ndim, ptr %new_shape, ptr %new_strides, i64 %itemsize, i32 %fortran) {
begin:
  %rowwise = icmp eq i32 %fortran, 0
  br i1 %rowwise, label %check, label %no
check:
  %i = phi i64 [%old_ndim, %begin], [%before_i, %fits]
  %expected = phi i64 [%itemsize, %begin], [%wider, %fits]
  %unchecked = icmp sgt i64 %i, 0
  br i1 %unchecked, label %look, label %fill
look:
  %before_i = sub i64 %i, 1
  %length_at = getelementptr i64, ptr %old_shape, i64 %before_i
  %length = load i64, ptr %length_at
  %stride_at = getelementptr i64, ptr %old_strides, i64 %before_i
  %stride = load i64, ptr %stride_at
  %unused = icmp slt i64 %length, 2
  %same = icmp eq i64 %stride, %expected
  %good = or i1 %unused, %same
  br i1 %good, label %fits, label %no
fits:
  %many = call i64 @llvm.smax.i64(i64 %length, i64 1)
  %wider = mul i64 %expected, %many
  br label %check
fill:
  %k = phi i64 [%new_ndim, %check], [%before_k, %put]
  %size = phi i64 [%itemsize, %check], [%larger, %put]
  %unfilled = icmp sgt i64 %k, 0
  br i1 %unfilled, label %put, label %yes
put:
  %before_k = sub i64 %k, 1
  %target = getelementptr i64, ptr %new_strides, i64 %before_k
  store i64 %size, ptr %target
  %new_length_at = getelementptr i64, ptr %new_shape, i64 %before_k
  %new_length = load i64, ptr %new_length_at
  %larger = mul i64 %size, %new_length
  br label %fill
yes:
  ret i32 1
no:
  ret i32 0
}
"""


@cache
def runtime() -> bytes:
    """The compiled object."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(
        reloc="static", codemodel="jitdefault", jit=True
    )
    return machine.emit_object(llvm.parse_assembly(_SOURCE))
