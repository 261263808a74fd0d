"""The protocol buffers of HLO that jaxport reads: declared here, and read and written by protobuf.

TensorFlow ships these messages within its 600 MB and jaxlib ships none. Names and numbers are those of
xla/service/hlo.proto and xla/xla_data.proto; protobuf never reuses a number, and a field that is not
declared here is kept when a message is written again.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import message

from compare import protobufs
from compare.hlo import whole
from compare.hlo.bindings import UnreadableProgram

_PACKAGE = "jaxport.hlo"

_MESSAGES = {
    "HloProto": "1 hlo_module HloModuleProto, 3 buffer_assignment BufferAssignmentProto",
    "HloModuleProto": (
        "1 name string, 2 entry_computation_name string, 3 computations HloComputationProto*, "
        "4 host_program_shape ProgramShapeProto, 5 id int64, 6 entry_computation_id int64, "
        "7 schedule HloScheduleProto, "
        "8 input_output_alias HloInputOutputAliasProto, 11 is_dynamic bool, "
        "17 stack_frame_index StackFrameIndexProto, 18 buffer_donor HloBufferDonorProto"
    ),
    "HloComputationProto": (
        "1 name string, 2 instructions HloInstructionProto*, 4 program_shape ProgramShapeProto, 5 id int64, "
        "6 root_id int64, 7 is_fusion_computation bool"
    ),
    "HloInstructionProto": (
        "1 name string, 2 opcode string, 3 shape ShapeProto, 7 metadata OpMetadata, 8 literal LiteralProto, "
        "9 parameter_number int64, 11 fusion_kind string, 13 tuple_index int64, 14 dimensions int64*, "
        "15 window Window, 16 convolution_dimension_numbers ConvolutionDimensionNumbers, "
        "17 slice_dimensions SliceDimensions*, 18 exponent_bits int32, 19 mantissa_bits int32, "
        "20 dynamic_slice_sizes int64*, 21 padding_config PaddingConfig, 22 outfeed_config bytes, "
        "23 distribution int32, 24 epsilon float, "
        "25 feature_index int64, 26 channel_id int64, 27 infeed_config bytes, 28 custom_call_target string, "
        "30 dot_dimension_numbers DotDimensionNumbers, 31 fft_type int32, 32 fft_length int64*, "
        "33 gather_dimension_numbers GatherDimensionNumbers, 34 gather_slice_sizes int64*, 35 id int64, "
        "36 operand_ids int64*, 37 control_predecessor_ids int64*, 38 called_computation_ids int64*, "
        "40 sharding bytes, 43 backend_config bytes, 48 scatter_dimension_numbers ScatterDimensionNumbers, "
        "50 feature_group_count int64, 51 precision_config PrecisionConfig, 56 constrain_layout bool, "
        "57 operand_shapes_with_layout ShapeProto*, 58 batch_group_count int64, "
        "59 triangular_solve_options TriangularSolveOptions, 60 is_stable bool, 62 cholesky_options CholeskyOptions, "
        "63 comparison_direction string, 65 custom_call_has_side_effect bool, 66 delta int64, "
        "49 replica_groups ReplicaGroup*, 52 source_target_pairs SourceTarget*, 71 use_global_device_ids bool, "
        "87 collective_device_list bytes, 92 iota_collective_device_list bytes, 93 mesh_axes_replica_group_list bytes, "
        "75 padding_type int32, 86 dot_sparsity bytes*, 90 ragged_dot_dimension_numbers bytes, "
        "91 result_accuracy bytes, "
        "67 indices_are_sorted bool, 69 unique_indices bool, 70 rng_algorithm int32, 72 comparison_type string, "
        "77 custom_call_api_version int32, 81 k int64, 85 largest bool, 94 is_reverse bool, 95 num_carries int64"
    ),
    "HloScheduleProto": "1 sequences ScheduledComputation*",
    "ScheduledComputation": "1 computation_id int64, 2 sequence InstructionSequence",
    "InstructionSequence": "1 instruction_ids int64*",
    "ReplicaGroup": "1 replica_ids int64*",
    "SourceTarget": "1 source int64, 2 target int64",
    "SliceDimensions": "1 start int64, 2 limit int64, 3 stride int64",
    "ShapeProto": (
        "2 element_type int32, 3 dimensions int64*, 4 tuple_shapes ShapeProto*, 5 layout LayoutProto, "
        "6 is_dynamic_dimension bool*"
    ),
    "LayoutProto": "1 minor_to_major int64*, 8 memory_space int64, 16 tail_padding_alignment_in_elements int64",
    "ProgramShapeProto": "1 parameters ShapeProto*, 2 result ShapeProto, 3 parameter_names string*",
    "LiteralProto": (
        "1 shape ShapeProto, 2 preds bool*, 3 u8s bytes, 4 s32s int32*, 5 s64s int64*, 6 u32s uint32*, "
        "7 u64s uint64*, 8 f32s float*, 9 f64s double*, 10 tuple_literals LiteralProto*, 11 f16s bytes, "
        "12 c64s float*, 13 bf16s bytes, 15 s8s bytes, 16 u16s bytes, 17 s16s bytes, 18 c128s double*, "
        "19 f8e5m2s bytes, 20 f8e4m3fns bytes, 21 s4s bytes, 22 u4s bytes"
    ),
    "OpMetadata": (
        "1 op_type string, 2 op_name string, 3 source_file string, 4 source_line int32, 15 stack_frame_id int32"
    ),
    "StackFrameIndexProto": (
        "1 file_names string*, 2 function_names string*, 3 file_locations FileLocation*, 4 stack_frames StackFrame*"
    ),
    "FileLocation": "1 file_name_id int32, 2 function_name_id int32, 3 line int32, 4 column int32",
    "StackFrame": "1 file_location_id int32, 2 parent_frame_id int32",
    "DotDimensionNumbers": (
        "1 lhs_contracting_dimensions int64*, 2 rhs_contracting_dimensions int64*, 3 lhs_batch_dimensions int64*, "
        "4 rhs_batch_dimensions int64*"
    ),
    "ConvolutionDimensionNumbers": (
        "3 kernel_input_feature_dimension int64, 4 kernel_output_feature_dimension int64, "
        "6 kernel_spatial_dimensions int64*, 7 input_batch_dimension int64, 8 input_feature_dimension int64, "
        "9 output_batch_dimension int64, 10 output_feature_dimension int64, 11 input_spatial_dimensions int64*, "
        "12 output_spatial_dimensions int64*"
    ),
    "Window": "1 dimensions WindowDimension*",
    "WindowDimension": (
        "1 size int64, 2 stride int64, 3 padding_low int64, 4 padding_high int64, 5 window_dilation int64, "
        "6 base_dilation int64, 7 window_reversal bool"
    ),
    "GatherDimensionNumbers": (
        "1 offset_dims int64*, 2 collapsed_slice_dims int64*, 3 start_index_map int64*, 4 index_vector_dim int64, "
        "5 operand_batching_dims int64*, 6 start_indices_batching_dims int64*"
    ),
    "ScatterDimensionNumbers": (
        "1 update_window_dims int64*, 2 inserted_window_dims int64*, 3 scatter_dims_to_operand_dims int64*, "
        "4 index_vector_dim int64, 5 input_batching_dims int64*, 6 scatter_indices_batching_dims int64*"
    ),
    "PaddingConfig": "1 dimensions PaddingConfigDimension*",
    "PaddingConfigDimension": "1 edge_padding_low int64, 2 edge_padding_high int64, 3 interior_padding int64",
    "PrecisionConfig": "1 operand_precision int32*, 2 algorithm int32",
    "TriangularSolveOptions": "1 left_side bool, 2 lower bool, 3 unit_diagonal bool, 4 transpose_a int32",
    "CholeskyOptions": "1 lower bool",
    "HloInputOutputAliasProto": "1 entries AliasEntryProto*",
    "AliasEntryProto": (
        "1 output_shape_index int64*, 2 parameter_number int64, 3 parameter_shape_index int64*, 4 kind int32"
    ),
    "HloBufferDonorProto": "1 entries BufferDonorEntryProto*",
    "BufferDonorEntryProto": "1 parameter_number int64, 2 parameter_shape_index int64*",
    "BufferAssignmentProto": "3 buffer_allocations BufferAllocationProto*",
    "BufferAllocationProto": (
        "1 index int64, 2 size int64, 3 is_thread_local bool, 5 is_entry_computation_parameter bool, "
        "6 parameter_number int64, 7 maybe_live_out bool, 11 is_tuple bool, 12 is_constant bool"
    ),
}

DTYPES = {
    1: "pred", 2: "s8", 3: "s16", 4: "s32", 5: "s64", 6: "u8", 7: "u16", 8: "u32", 9: "u64", 10: "f16", 11: "f32",
    12: "f64", 13: "tuple", 14: "opaque", 15: "c64", 16: "bf16", 17: "token", 18: "c128", 19: "f8e5m2",
    20: "f8e4m3fn", 21: "s4", 22: "u4", 34: "buffer",
}  # fmt: skip
"""XLA's PrimitiveType by number, under the names that HLO text uses."""


_CLASSES = protobufs.classes(_PACKAGE, _MESSAGES)


def read_module(data: bytes) -> Any:
    """The HloModuleProto in these bytes, or the one that an HloProto holds.

    Raises:
      UnreadableProgram: neither, or it is not whole.
    """
    for name, module_of in (("HloModuleProto", lambda read: read), ("HloProto", lambda read: read.hlo_module)):
        try:
            module = module_of(_CLASSES[name].FromString(data))
        except (message.DecodeError, UnicodeDecodeError):
            continue
        if module.computations and module.computations[0].instructions:
            whole.check(module)
            return module
    raise UnreadableProgram(f"expected a serialized HloModuleProto or HloProto, found {len(data)} other bytes")


def new(name: str) -> Any:
    """An empty message of one of the types declared here."""
    return _CLASSES[name]()
