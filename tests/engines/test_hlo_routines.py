"""The instructions of programs of XLA: fusions, calls of libraries, and instructions that XLA's passes made."""

from __future__ import annotations

from dovetail.engines.hlo_routines import Instruction, instructions

GPU = """\
HloModule jit_program

%add (a: f32[], b: f32[]) -> f32[] {
  ROOT %sum.1 = f32[] add(%a, %b), metadata={op_name="jit(program)/reduce_sum"}
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
  ROOT %reduce.1 = f32[] reduce(%fusion.1, %zero), to_apply=%add, metadata={op_name="jit(f)/sum"}
}
"""


def test_instructions_without_a_path_belong_to_what_takes_their_results():
    assert instructions(GPU) == [
        Instruction("transpose %transpose.1", "fusion %fusion.1 (kLoop)", "jit(f)/sum"),
        Instruction("custom-call %cudnn-conv.1", "custom call __cudnn$convForward", "jit(f)/sum"),
        Instruction("reduce %reduce.1", "XLA reduce, in no fusion", "jit(f)/sum"),
    ]
