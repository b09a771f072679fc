"""Formulas as MathML, for the pages of the course and of the documentation."""

from __future__ import annotations

import re

from latex2mathml.converter import convert

# The converter knows the two strokes of a norm by one name when they are sized.
_TALL_NORM = re.compile(r"(\\[Bb]igg?[lr]?)\\[lr]Vert")
_STROKE = re.compile(r"<mo(?: fence=\"false\")?(?: stretchy=\"false\")?>(&#x02016;|&#x0007C;)</mo>")


def mathml(tex: str, display: str = "inline") -> str:
    r"""The MathML element of a formula.

    Strokes without ``\left``, ``\right`` or a size are letters to TeX. A browser would stretch the
    left one over the exponent of the right one, and put space around both.

    Parameters
    ----------
    tex
        What stands between the dollar signs.
    display : {"inline", "block"}
        Inside a line, or on lines of its own.

    Examples
    --------
    >>> mathml(r"\lVert z\rVert").count('stretchy="false" lspace="0" rspace="0"')
    2
    """
    element = str(convert(_TALL_NORM.sub(r"\1‖", tex), display=display))
    return _STROKE.sub(r'<mo stretchy="false" lspace="0" rspace="0">\1</mo>', element)
