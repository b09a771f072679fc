"""Strokes of norms and sizes keep their height and their place."""

import pytest

pytest.importorskip("latex2mathml")

from rosenblatt.course.formulas import mathml


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
