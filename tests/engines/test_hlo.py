"""The instructions of programs of XLA: frames, fusions, calls of libraries, and instructions that XLA's passes made."""

from __future__ import annotations

from dovetail.engines.hlo import Frames, Instruction, instructions

GPU = """\
HloModule jit_program

FileNames
1 "train.py"
2 "<dovetail program>"

FunctionNames
1 "<module>"
2 "program"

FileLocations
1 {file_name_id=1 function_name_id=1 line=7 end_line=7 column=0 end_column=3}
2 {file_name_id=2 function_name_id=2 line=2 end_line=2 column=6 end_column=32}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=2}

%add (a: f32[], b: f32[]) -> f32[] {
  ROOT %sum.1 = f32[] add(%a, %b), metadata={op_name="jit(program)/reduce_sum" stack_frame_id=2}
}

%turned (p: f32[8,30,30,16]) -> f32[8,16,30,30] {
  %p = f32[8,30,30,16]{3,2,1,0} parameter(0)
  ROOT %transpose.1 = f32[8,16,30,30]{3,2,1,0} transpose(%p), dimensions={0,3,1,2}
}

ENTRY %main (x: f32[8,3,32,32], w: f32[16,3,3,3]) -> f32[] {
  %x = f32[8,3,32,32]{3,2,1,0} parameter(0)
  %cudnn-conv.1 = (f32[8,30,30,16]{3,2,1,0}, u8[0]{0}) custom-call(%x, %w), custom_call_target="__cudnn$convForward"
  %get-tuple-element = f32[8,30,30,16]{3,2,1,0} get-tuple-element(%cudnn-conv.1), index=0
  %fusion.1 = f32[8,16,30,30]{3,2,1,0} fusion(%get-tuple-element), kind=kLoop, calls=%turned
  ROOT %reduce.1 = f32[] reduce(%fusion.1, %zero), to_apply=%add, metadata={op_name="jit(f)/sum" stack_frame_id=2}
}
"""


def test_instructions_without_metadata_belong_to_what_takes_their_results():
    assert instructions(GPU) == [
        Instruction("transpose %transpose.1", "fusion %fusion.1 (kLoop)", "jit(f)/sum", 2),
        Instruction("custom-call %cudnn-conv.1", "custom call __cudnn$convForward", "jit(f)/sum", 2),
        Instruction("reduce %reduce.1", "XLA reduce, in no fusion", "jit(f)/sum", 2),
    ]


def test_frames_with_their_callers():
    assert list(Frames(GPU).lines(2)) == [("<dovetail program>", 2), ("train.py", 7)]
    counted_from_zero = GPU.replace("parent_frame_id=1", "parent_frame_id=0").replace("frame_id=2}", "frame_id=1}")
    assert list(Frames(counted_from_zero).lines(2)) == [("<dovetail program>", 2), ("train.py", 7)]
    assert list(Frames("").lines(3)) == []
