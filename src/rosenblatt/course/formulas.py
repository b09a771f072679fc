"""Formulas as MathML, for the pages of the course and of the documentation."""

from __future__ import annotations

import re

from latex2mathml.converter import convert

# The converter does not know \lVert and \rVert after \big and the like.
_TALL_NORM = re.compile(r"(\\[Bb]igg?[lr]?)\\[lr]Vert")
_STROKE = re.compile(r"<mo(?: fence=\"false\")?(?: stretchy=\"false\")?>(&#x02016;|&#x0007C;)</mo>")


def mathml(tex: str, display: str = "inline") -> str:
    r"""The MathML element of a TeX formula; `display` is "inline" or "block".

    Bars without ``\left``, ``\right`` or a size are ordinary symbols in TeX. A browser would
    stretch the left one over the exponent of the right one, and put space around both.

    >>> mathml(r"\lVert z\rVert").count('stretchy="false" lspace="0" rspace="0"')
    2
    """
    element = str(convert(_TALL_NORM.sub(r"\1‖", tex), display=display))
    return _STROKE.sub(r'<mo stretchy="false" lspace="0" rspace="0">\1</mo>', element)
