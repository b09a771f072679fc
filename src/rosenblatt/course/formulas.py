"""Formulas as MathML, and the font they are set in, for the course and the documentation."""

from __future__ import annotations

import io
import itertools
import re
import unicodedata
from functools import cache
from importlib.metadata import distribution
from xml.etree import ElementTree as Xml

from latex2mathml.converter import convert

# The converter does not know \lVert and \rVert after \big and the like.
_TALL_NORM = re.compile(r"(\\[Bb]igg?[lr]?)\\[lr]Vert")
_STROKES = "‖|"
_STYLES = {
    "bold": "BOLD",
    "bold-italic": "BOLD ITALIC",
    "double-struck": "DOUBLE-STRUCK",
    "script": "SCRIPT",
}  # by the attribute mathvariant, in the names of Unicode
_WITH_LIMITS = {"arg min", "arg max", "min", "max", "sup", "inf", "lim"}
# What formulas are made of: Latin, Greek, arrows, operators, and letters of all styles.
_LETTERS = [
    (0x20, 0x7E), (0xA0, 0xFF), (0x302, 0x304), (0x391, 0x3C9), (0x3D1, 0x3F5), (0x2016, 0x2016),
    (0x2020, 0x2026), (0x2032, 0x2033), (0x2061, 0x2063), (0x2102, 0x2124), (0x2190, 0x2194),
    (0x21A6, 0x21A6), (0x21D0, 0x21D4), (0x2200, 0x222B), (0x223C, 0x2265), (0x226A, 0x226B),
    (0x2282, 0x2287), (0x2295, 0x2299), (0x22A4, 0x22A5), (0x22C0, 0x22C6), (0x22EE, 0x22F1),
    (0x2308, 0x230B), (0x23DE, 0x23DF), (0x25A1, 0x25A1), (0x27E8, 0x27E9),
    (0x1D400, 0x1D49B), (0x1D538, 0x1D551), (0x1D6A8, 0x1D755), (0x1D7CE, 0x1D7E1),
]  # fmt: skip


def mathml(tex: str, display: str = "inline") -> str:
    r"""The MathML element of a TeX formula; `display` is "inline" or "block".

    Browsers draw letters of all styles only if they are letters of their own, such as ℝ, and put
    the right space around names of functions only if these are no operators.

    >>> "<mi>ℝ</mi>" in mathml(r"\mathbb R^d"), "<mi>sign</mi>" in mathml(r"\operatorname{sign}(0)")
    (True, True)
    """
    root = Xml.fromstring(convert(_TALL_NORM.sub(r"\1‖", tex), display=display))
    for element in list(root.iter()):
        element.tag = element.tag.rpartition("}")[2]
    for element in list(root.iter()):
        _mend(element, display == "block")
    root.set("xmlns", "http://www.w3.org/1998/Math/MathML")
    return Xml.tostring(root, encoding="unicode")


def _mend(element: Xml.Element, is_block: bool) -> None:
    """Mend a leaf, or the places of the leaves of a row."""
    text = element.text or ""
    if element.get("mathvariant") in _STYLES:
        style = _STYLES[element.attrib.pop("mathvariant")]
        element.text = "".join(_letter(sign, style) for sign in text)
    elif element.tag == "mo" and text.isalpha() and len(text) > 1:
        element.tag = "mi"
    elif element.tag == "mo" and text in _STROKES and "minsize" not in element.attrib:
        # Bars without \left, \right or a size are ordinary symbols in TeX. A browser would
        # stretch the left one over the exponent of the right one, and put space around both.
        if element.get("stretchy", "false") == "false":
            element.attrib = {"stretchy": "false", "lspace": "0", "rspace": "0"}
    elif element.tag == "msub" and is_block and element[0].text in _WITH_LIMITS:
        element.tag = "munder"
    if element.tag in ("mrow", "math"):
        _space_functions(element)
        _mark_signs(element)


def _letter(sign: str, style: str) -> str:
    r"""The letter or digit of a style.

    >>> _letter("x", "BOLD"), _letter("R", "DOUBLE-STRUCK"), _letter("1", "BOLD")
    ('𝐱', 'ℝ', '𝟏')
    """
    name = re.sub("LATIN |GREEK | LETTER", "", unicodedata.name(sign, ""))
    for candidate in (f"MATHEMATICAL {style} {name}", f"{style} {name}"):
        try:
            return unicodedata.lookup(candidate)
        except KeyError:
            continue
    return sign


def _space_functions(row: Xml.Element) -> None:
    """Put a thin space between the name of a function and an argument without brackets."""
    for place in range(len(row) - 2, -1, -1):
        name = row[place][0] if row[place].tag in ("msub", "munder", "msup") else row[place]
        following = row[place + 1]
        is_function = name.tag in ("mi", "mo") and len(name.text or "") > 1
        if is_function and (name.text or "").isalpha() and following.tag not in ("mo", "mspace"):
            row.insert(place + 1, Xml.Element("mspace", width="0.1667em"))


def _mark_signs(row: Xml.Element) -> None:
    """Mark a plus or minus after another operator as a sign, which has no space around it."""
    for before, sign in itertools.pairwise(row):
        is_operator = before.tag == "mo" and (before.text or "") not in ")]}|‖"
        if is_operator and sign.tag == "mo" and sign.text in ("−", "-", "+", "±"):
            sign.set("form", "prefix")


@cache
def font() -> bytes:
    """The part of STIX Two Math that formulas need, as WOFF.

    The font comes with the package ziamath; stretched brackets, roots and sums come with it.
    """
    from fontTools import subset

    options = subset.Options(flavor="woff", hinting=False, layout_features=[], name_IDs=["*"])
    source = distribution("ziamath").locate_file("ziamath/fonts/STIXTwoMath-Regular.ttf")
    written = io.BytesIO()
    with subset.load_font(source, options) as font:
        subsetter = subset.Subsetter(options)
        subsetter.populate(unicodes=[c for a, b in _LETTERS for c in range(a, b + 1)])
        subsetter.subset(font)
        font.flavor = "woff"
        font.save(written)
    return written.getvalue()
