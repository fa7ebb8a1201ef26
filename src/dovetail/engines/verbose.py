"""The lines that oneDNN and MKL write about the routines that they run."""

from __future__ import annotations

import re
from collections.abc import Iterable

from dovetail.core.engines.routines import NOT_REPORTED

BEGINNINGS = ("onednn_verbose", "dnnl_verbose", "MKL_VERBOSE")
_MKL = re.compile(r"MKL_VERBOSE (\w+)\(")


def routine(lines: Iterable[str]) -> str:
    """The routines that lines name.

    Example:
        >>> line = "onednn_verbose,v1,primitive,exec,cpu,convolution,brg_conv_fwd:avx512_core,forward_training,0.3"
        >>> routine([line, "MKL_VERBOSE SGEMM(N,N,64) 51us"])
        'oneDNN convolution brg_conv_fwd:avx512_core; MKL SGEMM'
        >>> routine([])
        'not reported'
    """
    names: dict[str, None] = {}
    for line in lines:
        if (called := _MKL.match(line)) is not None:
            names[f"MKL {called[1]}"] = None
        elif kind := primitive(line):
            implementation = line.split(",")[line.split(",").index("exec") + 3]
            names[f"oneDNN {kind} {implementation}"] = None
    return "; ".join(names) or NOT_REPORTED


def primitive(line: str) -> str:
    """The primitive of oneDNN that a line says to have run, as "convolution"; "" if it says none."""
    fields = line.split(",")
    return fields[fields.index("exec") + 2] if "exec" in fields[:4] else ""
