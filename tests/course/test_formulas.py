"""Strokes of norms and sizes keep their height and their place."""

import base64
import io

import pytest

pytest.importorskip("latex2mathml")

from fontTools.ttLib import TTFont

from rosenblatt.course.formulas import font, mathml


def operators(browser, tex):
    """The edges above and below every operator of a formula, in pixels."""
    page = browser.new_page()
    page.set_content(f"<!doctype html>{mathml(tex)}")
    found = page.evaluate(
        "() => [...document.querySelectorAll('mo')].map(e => e.getBoundingClientRect())"
        ".map(box => [box.top, box.bottom])"
    )
    page.close()
    return found


@pytest.mark.parametrize("tex", [r"R^2\lVert z\rVert^2", r"R^2\|z\|^2", "R^2|X^{2}|^2"])
def test_both_strokes_are_level_though_one_has_an_exponent(browser, tex):
    left, right = operators(browser, tex)
    assert left == pytest.approx(right, abs=0.5)


def test_sized_and_paired_strokes_still_grow(browser):
    height = {
        tex: max(bottom - top for top, bottom in operators(browser, tex))
        for tex in (r"\lVert z\rVert", r"\left\lVert\dfrac{a^2}{b^2}\right\rVert")
    }
    plain, paired = height.values()
    assert paired > 1.3 * plain
    assert "minsize" in mathml(r"\Bigl\lVert z\Bigr\rVert")


def test_letters_of_a_style_are_letters_of_their_own():
    styled = mathml(r"\mathbb R\,\mathbf 1\,\boldsymbol w\,\mathcal L\,\mathbf\theta")
    assert "mathvariant" not in styled
    assert [sign for sign in "ℝ𝟏𝒘ℒ𝛉" if sign not in styled] == []


def test_limits_stand_below_in_a_display_and_beside_in_a_line():
    assert "<munder><mi>min</mi>" in mathml(r"\min_i x_i", "block")
    assert "<msub><mi>min</mi>" in mathml(r"\min_i x_i", "inline")


def test_functions_have_a_space_before_a_bare_argument_only():
    assert "mspace" in mathml(r"\log x")
    assert "mspace" not in mathml(r"\operatorname{sign}(0)")


def test_the_font_has_every_letter_and_stretches_roots(browser):
    page = browser.new_page()
    data = base64.b64encode(font()).decode()
    face = f"@font-face {{ font-family: M; src: url(data:font/woff;base64,{data}) }}"
    tall = mathml(r"\sqrt{\frac{\frac12}{\frac{ℝ}{𝟏}}}")
    page.set_content(f"<!doctype html><style>{face} math {{ font-family: M }}</style>{tall}")
    assert page.evaluate("document.fonts.load('16px M', 'ℝ𝟏').then(faces => faces.length)") == 1
    page.close()
    with TTFont(io.BytesIO(font())) as part:
        assert set("ℝ𝟏𝒘ℒ𝛉𝔼∑√‖γθ") <= {chr(code) for code in part.getBestCmap()}
        variants = part["MATH"].table.MathVariants.VertGlyphCoverage.glyphs
        assert part.getBestCmap()[ord("√")] in variants


def test_a_minus_after_an_operator_is_a_sign_and_after_a_letter_is_not():
    assert mathml(r"y=-1").count('form="prefix"') == 1
    assert mathml(r"\{-1,+1\}").count('form="prefix"') == 2
    assert "prefix" not in mathml(r"x-1")
