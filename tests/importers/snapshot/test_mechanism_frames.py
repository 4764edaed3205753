"""Which frames say for what memory was allocated: names of a real recording, read by eye."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.snapshots import trace_of
from torch_tb_profiler.importers.snapshot.mechanism_frames import is_mechanism

MECHANISM = [
    "torch::unwind::unwind()",
    "torch::CapturedTraceback::gather(bool, bool, bool)",
    "torch::cuda::(anonymous namespace)::gather_with_cpp()",
    "c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::malloc(unsigned long)",
    "c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::allocate(unsigned long)",
    "c10::hip::HIPCachingAllocator::Native::NativeCachingAllocator::allocate(unsigned long)",
    "at::detail::empty_generic(c10::ArrayRef<long>, c10::Allocator*)",
    "at::native::empty_strided_cuda(c10::ArrayRef<long>)",
    "at::_ops::empty_memory_format::redispatch(c10::DispatchKeySet)",
    "at::(anonymous namespace)::create_out(c10::ArrayRef<long>)",
    "at::(anonymous namespace)::structured_mul_out_functional::set_output_raw_strided(long)",
    "at::TensorIteratorBase::build(at::TensorIteratorConfig&)",
    "c10::impl::wrap_kernel_functor_unboxed_<at::Tensor>::call(c10::OperatorKernel*)",
    "_PyEval_EvalFrameDefault",
    "PyObject_Call",
    "__libc_start_main",
    "_start",
    "__clone",
]
PURPOSE = [
    "at::_ops::mul_Tensor::call(at::Tensor const&, at::Tensor const&)",
    "at::native::_to_copy(at::Tensor const&)",
    "at::(anonymous namespace)::wrapper_CUDA_neg(at::Tensor const&)",
    "torch::autograd::generated::details::pow_backward(at::Tensor, at::Tensor const&)",
    "c10d::ProcessGroupNCCL::allgather(std::vector<at::Tensor>&)",
    "my::Allocations::of_model()",
    "PyTorchModel::forward(at::Tensor)",
]


@pytest.mark.parametrize("name", MECHANISM)
def test_mechanism(name: str) -> None:
    assert is_mechanism(name, "??")


@pytest.mark.parametrize("name", PURPOSE)
def test_purpose(name: str) -> None:
    assert not is_mechanism(name, "a.cpp")


def test_a_function_of_python_is_never_mechanism() -> None:
    assert not is_mechanism("_start", "train.py")


def frames(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "filename": "??", "line": 0} for name in names]


def test_what_holds_memory_is_the_first_frame_with_a_purpose() -> None:
    stacks = [frames(*MECHANISM[:6], *PURPOSE[:2], "_start"), frames(*MECHANISM)]
    block = {"address": 0, "size": 512, "requested_size": 512, "state": "active_allocated"}
    snapshot = {
        "segments": [
            {"device": 0, "address": 4096 * number, "total_size": 512, "allocated_size": 512,
             "blocks": [block | {"address": 4096 * number, "frames": stack}]}
            for number, stack in enumerate(stacks)
        ],
        "device_traces": [[]],
    }  # fmt: skip
    side = trace_of(pickle.dumps(snapshot, 4)).side["snapshot_stacks"].frame
    assert side.rows() == [
        (PURPOSE[0], "\n".join(PURPOSE[:2])),
        (MECHANISM[0], "\n".join(MECHANISM)),
    ]


def test_no_memory_of_the_corpus_is_held_by_the_unwinder(corpus: Path) -> None:
    trace = trace_of((corpus / "memsnap_cuda" / "medium_512_training.pickle").read_bytes())
    held = trace.side["snapshot_stacks"].frame["frame"]
    assert len(held) > 50
    assert not held.str.contains("unwind|Allocator|gather_with_cpp|^_?Py").any()
