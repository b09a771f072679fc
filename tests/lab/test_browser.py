"""The lab in a real browser: what people do with it, and what they see."""

import gc
import re
import socket
import subprocess
import sys
import time
import urllib.request

import pytest


@pytest.fixture
def page(open_page):
    return open_page()


def counts(page):
    found = re.findall(r"(\w+) (\d+)", page.locator(".counts").inner_text())
    return {name: int(value) for name, value in found}


def wait_for(page, **expected):
    """Wait until the counts say so."""
    for name, value in expected.items():
        page.locator(".counts", has_text=re.compile(rf"{name} {value}(?!\d)")).wait_for()


def drawn_line(page):
    return page.locator(".boundary").get_attribute("points")


def click_at(page, across, up):
    """Click into the plane, at shares of its width and height."""
    box = page.locator(".plane").bounding_box()
    page.mouse.click(box["x"] + across * box["width"], box["y"] + (1 - up) * box["height"])


def points(page):
    return page.locator(".point").count()


def wait_for_points(page, count):
    page.wait_for_function(
        "n => { const all = []; const walk = r => { for (const e of r.querySelectorAll('*')) "
        "{ if (e.matches('.point')) all.push(e); if (e.shadowRoot) walk(e.shadowRoot) } }; "
        "walk(document); return all.length === n }",
        arg=count,
    )


def upload(page, text, name="data.csv"):
    content = text if isinstance(text, bytes) else text.encode()
    page.locator(".file").set_input_files(
        files=[{"name": name, "mimeType": "text/csv", "buffer": content}]
    )


def test_it_loads_with_an_example_and_says_what_is_proven(page):
    assert points(page) == 4
    assert page.title() == "Perceptron lab"
    assert "a run makes at most 27 updates" in page.locator(".certificate").inner_text()


def test_a_click_adds_a_point_and_a_drag_moves_it(page):
    click_at(page, 0.5, 0.5)
    wait_for_points(page, 5)
    grip = page.locator('.point[data-row="4"] .grip')
    before = grip.bounding_box()
    x, y = before["x"] + before["width"] / 2, before["y"] + before["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 40, y - 30, steps=4)
    page.mouse.move(x + 120, y - 90, steps=8)
    page.mouse.up()
    page.locator('.lab-page[aria-busy="false"]').wait_for()
    after = grip.bounding_box()
    assert after["x"] - before["x"] == pytest.approx(120, abs=5)
    assert after["y"] - before["y"] == pytest.approx(-90, abs=5)
    assert points(page) == 5


def test_flip_and_delete_are_modes_of_the_click(page):
    page.locator('[data-mode="flip"]').click()
    page.locator('.point[data-row="0"] .grip').click()
    page.locator('.point.positive[data-row="0"]').wait_for()
    page.locator('[data-mode="delete"]').click()
    page.locator('.point[data-row="0"] .grip').click()
    wait_for_points(page, 3)


def test_a_step_shows_its_arithmetic_and_back_takes_it_back(page):
    page.locator(".step").click()
    wait_for(page, step=1, updates=1)
    said = page.locator(".step-text").inner_text()
    assert "s = w·x + b = 0·0 + 0·0 + 0 = 0" in said
    assert "a mistake" in said
    page.locator(".back").click()
    wait_for(page, step=0, updates=0)
    assert "all weights zero" in page.locator(".step-text").inner_text()


def test_play_goes_to_the_end_and_says_why_it_stopped(page):
    page.locator(".speed input").fill("6")
    page.locator(".play").click()
    page.locator(".stop", has_text="separated").wait_for()
    assert counts(page)["errors"] == 0
    assert page.locator(".play").inner_text() == "play"
    assert page.locator(".boundary").count() == 1


def test_pause_pauses(page):
    page.locator(".speed input").fill("3")
    page.locator(".play").click()
    wait_for(page, step=2)
    page.locator(".play").click()
    page.wait_for_timeout(300)
    held = counts(page)["step"]
    page.wait_for_timeout(500)
    assert counts(page)["step"] == held


def test_xor_made_by_hand_contradicts_itself_and_lifted_it_separates(page):
    page.locator(".clear").click()
    wait_for_points(page, 0)
    for n, (mode, across, up) in enumerate(
        [("+1", 0.25, 0.8), ("+1", 0.8, 0.25), ("-1", 0.25, 0.25), ("-1", 0.8, 0.8)], start=1
    ):
        page.locator(f'[data-mode="{mode}"]').click()
        click_at(page, across, up)
        wait_for_points(page, n)
    page.locator('.certificate[data-verdict="inseparable"]').wait_for()
    assert "contradict each other" in page.locator(".certificate").inner_text()
    assert page.locator(".point.contradicts").count() == 4
    page.locator("#setting-lift").select_option("products")
    page.locator('.certificate[data-verdict="separable"]').wait_for()
    page.locator(".finish").click()
    page.locator(".stop", has_text="separated").wait_for()
    assert counts(page)["errors"] == 0
    assert page.locator(".point.contradicts").count() == 0


def test_a_link_restores_points_settings_and_step(page, open_page):
    page.locator(".example").select_option("xor")
    page.locator('.certificate[data-verdict="inseparable"]').wait_for()
    page.locator("#setting-lift").select_option("products")
    page.locator('.certificate[data-verdict="separable"]').wait_for()
    for n in range(1, 4):
        page.locator(".step").click()
        wait_for(page, step=n)
    page.wait_for_function("location.hash.startsWith('#s=')")
    page.wait_for_timeout(600)
    other = open_page(page.evaluate("location.hash"))
    wait_for(other, step=3)
    assert other.locator("#setting-lift").input_value() == "products"
    assert other.locator(".step-text").inner_text() == page.locator(".step-text").inner_text()


def test_a_reload_shows_the_same_part_of_the_plane_at_the_same_step(page):
    page.locator(".example").select_option("iris")
    wait_for_points(page, 100)
    for _ in range(2):
        page.keyboard.press("m")
        page.locator('.lab-page[aria-busy="false"]').wait_for()
    page.locator(".fit").click()
    page.locator('.lab-page[aria-busy="false"]').wait_for()
    page.wait_for_timeout(600)  # the address follows a moment later
    line, progress = drawn_line(page), counts(page)
    page.reload()
    wait_for(page, **progress)
    pixels = [list(map(float, re.split("[ ,]", text))) for text in (line, drawn_line(page))]
    assert pixels[1] == pytest.approx(pixels[0], abs=0.1)


def test_a_broken_link_gives_a_message_and_a_working_page(open_page):
    page = open_page("#s=garbage")
    page.locator(".message", has_text="does not contain a session").wait_for()
    page.locator(".step").click()
    wait_for(page, step=1)
    assert page.locator(".message").is_hidden()


def test_two_tabs_do_not_disturb_each_other(page, open_page):
    other = open_page()
    other.locator(".example").select_option("iris")
    wait_for_points(other, 100)
    page.locator(".step").click()
    wait_for(page, step=1)
    assert points(page) == 4
    assert counts(other)["step"] == 0


def test_a_killed_tab_leaves_the_others_working(page, open_page):
    other = open_page()
    other.locator(".play").click()
    other.context.close()
    page.locator(".finish").click()
    page.locator(".stop", has_text="separated").wait_for()


def test_the_words_of_the_notes_are_rows_of_a_table(page):
    page.locator(".example").select_option("movies")
    page.locator(".rows").wait_for()
    for n in range(1, 5):
        page.locator(".step").click()
        wait_for(page, step=n)
    assert [w.inner_text() for w in page.locator(".weights .value").all()] == ["1", "1", "-1", "-1"]
    assert "movie good" in page.locator(".rows").inner_text()


def test_two_weights_show_their_space_and_its_path(page):
    assert page.locator(".space").is_hidden()
    page.locator("#setting-bias").uncheck()
    page.locator(".space .path").wait_for(state="attached")
    page.locator(".finish").click()
    page.locator(".stop", has_text="cycle").wait_for()


BAD_UPLOADS = [
    ("", "the file is empty"),
    ("a,b,label\n1,x,0\n", "line 2, column 'b': expected a number, found 'x'"),
    ("a,b,label\n1,2,0\n3,4,0\n", "labels of 2 to 8 classes"),
    ("a,b,label\n" + "1,2,0\n3,4,1\n" * 400, "up to 500 points, not 800"),
    (b"\x89PNG\r\n\x1a\n\x00\xff\xfe", "is this a binary file?"),
    (b"a,b,label\n1,2,\x00\n", "is this a binary file?"),
    # the longest message there is
    (b"a,b,label\n" + b'"\n' * 999_990, "line 2: expected 3 values, found 1"),
    (b"a" * 2_500_000, "larger than 2 MB"),
]


def test_a_bad_upload_gives_a_message_and_changes_nothing(page):
    for content, message in BAD_UPLOADS:
        upload(page, content)
        page.locator(".message", has_text=message).wait_for()
        assert points(page) == 4
    page.locator(".step").click()
    wait_for(page, step=1)
    assert page.locator(".message").is_hidden()


def test_names_in_a_file_cannot_become_part_of_the_page(page):
    attack = "<img src=x onerror=document.title='taken'>"
    upload(page, f"row,{attack},b,label\n{attack},1,2,{attack}\nplain,3,4,other\n", attack)
    wait_for_points(page, 2)
    page.locator(".step").click()
    wait_for(page, step=1)
    upload(page, f"row,{attack},b,c,label\n{attack},1,2,3,{attack}\nplain,3,4,5,other\n")
    page.locator(".rows", has_text="onerror").wait_for()
    assert page.locator("img").count() == 0
    assert page.title() == "Perceptron lab"


def test_names_of_200_characters_do_not_widen_the_page(page):
    long = "n" * 200
    for columns, row in ((f"{long}1,b", "1,2"), (f"{long}1,{long}2,c", "1,2,3")):
        upload(
            page, f"row,{columns},label\n{long}a,{row},{long}\n{long}b,{row},{long}c\nx,{row},y\n"
        )
        page.locator(".target option", has_text="n…").first.wait_for(state="attached")
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_timeout(80)
            assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_500_points_can_be_uploaded_and_stepped_through(page):
    rows = "".join(f"{i % 25},{i // 25},{int(i % 25 > i // 25)}\n" for i in range(500))
    upload(page, "a,b,label\n" + rows)
    wait_for_points(page, 500)
    page.locator(".step").click()
    wait_for(page, step=1)
    page.locator(".plane").focus()
    page.keyboard.press("+")
    page.locator(".message", has_text="up to 500 points").wait_for()


def test_a_setting_out_of_range_gives_a_message_and_goes_back(page):
    page.locator("#setting-eta").fill("-3")
    page.locator("#setting-eta").press("Enter")
    page.locator(".message", has_text="learning rate must be between").wait_for()
    assert page.locator("#setting-eta").input_value() == "1"


def test_everything_can_be_done_with_the_keyboard(page):
    page.locator(".plane").focus()
    page.keyboard.press("+")
    wait_for_points(page, 5)
    for _ in range(5):
        page.keyboard.press("]")
    page.locator('.point.selected[data-row="4"]').wait_for()
    before = page.locator('.point[data-row="4"] .grip').bounding_box()
    page.keyboard.press("Shift+ArrowRight")
    page.locator('.lab-page[aria-busy="false"]').wait_for()
    assert page.locator('.point[data-row="4"] .grip').bounding_box()["x"] > before["x"] + 20
    page.keyboard.press("f")
    page.locator('.point.negative[data-row="4"]').wait_for()
    page.keyboard.press("Delete")
    wait_for_points(page, 4)
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowRight")
    wait_for(page, step=1)
    page.keyboard.press("End")
    page.locator(".stop", has_text="separated").wait_for()
    page.keyboard.press("Home")
    wait_for(page, step=0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_on_the_page_keeps_anybody_out(open_page, barriers, scheme):
    page = open_page(color_scheme=scheme)
    page.locator(".to-mistake").click()
    wait_for(page, updates=1)
    assert barriers(page) == []
    page.locator(".compare").check()
    page.locator(".example").select_option("movies")
    page.locator(".rows").wait_for()
    page.locator(".step").click()
    wait_for(page, step=1)
    assert barriers(page) == []


def test_every_control_has_a_name_for_those_who_cannot_see_it(page):
    nameless = page.evaluate(
        """() => { const bad = []; const walk = r => { for (const e of r.querySelectorAll('*')) {
        if (e.matches('button, input, select') && !(e.innerText || '').trim() && !e.ariaLabel
            && !(e.labels && e.labels.length)) bad.push(e.outerHTML);
        if (e.shadowRoot) walk(e.shadowRoot) } }; walk(document); return bad }"""
    )
    assert nameless == []


def test_what_is_on_screen_can_be_taken_home(page, tmp_path):
    page.locator("#setting-max_epochs").fill("2")
    page.locator("#setting-max_epochs").press("Enter")
    starts = {
        "gif": b"GIF8",
        "certificate": b"{",
        "csv": b"row,p,q",
    }
    for kind, start in starts.items():
        with page.expect_download() as download:
            page.locator(".export").select_option(kind)
        download.value.save_as(tmp_path / kind)
        content = (tmp_path / kind).read_bytes()
        assert content.startswith(start)
        assert len(content) > 50


def test_it_fits_the_screen_and_follows_its_colours(page):
    ground = "getComputedStyle(document.body).backgroundColor"
    colours = {"light": "rgb(243, 244, 246)", "dark": "rgb(18, 21, 25)"}
    for scheme, colour in colours.items():
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate(ground) == colour
        for width in (1400, 760, 390, 320):
            page.set_viewport_size({"width": width, "height": 800})
            page.wait_for_timeout(80)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator(".more").click()
    page.locator(".theme").click()
    assert page.evaluate(ground) == colours["light"]


def test_on_a_phone_the_tools_take_one_row_and_the_rest_is_behind_a_button(open_page):
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    assert page.locator(".tools").bounding_box()["height"] < 60
    assert not page.locator(".help").is_visible()
    page.locator(".more").tap()
    assert page.locator(".more").get_attribute("aria-expanded") == "true"
    for tool in (".file", ".clear", ".export", ".share", ".theme", ".help"):
        box = page.locator(tool).bounding_box()
        assert box["x"] + box["width"] <= 390
    page.locator(".more").tap()
    assert page.locator(".tools").bounding_box()["height"] < 60


def test_a_finger_can_tap_points_on_a_phone(open_page):
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    box = page.locator(".plane").bounding_box()
    page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    wait_for_points(page, 5)


def test_keys_work_before_anything_was_clicked(page):
    page.keyboard.press("ArrowRight")
    wait_for(page, step=1)
    page.keyboard.press("End")
    page.locator(".stop", has_text="separated").wait_for()
    page.keyboard.press("Home")
    wait_for(page, step=0)


def test_undo_brings_back_what_was_cleared(page):
    assert page.locator(".undo").is_disabled()
    page.locator(".clear").click()
    wait_for_points(page, 0)
    page.keyboard.press("Control+z")
    wait_for_points(page, 4)
    assert page.locator(".undo").is_disabled()


def test_a_point_added_by_key_is_selected_so_that_the_next_key_changes_it(page):
    page.locator(".plane").focus()
    page.keyboard.press("+")
    wait_for_points(page, 5)
    page.locator('.point.positive.selected[data-row="4"]').wait_for()
    page.keyboard.press("f")
    page.locator('.point.negative[data-row="4"]').wait_for()


def test_the_loaded_example_is_shown_until_the_points_change(page):
    assert page.locator(".example").input_value() == "or"
    page.locator(".example").select_option("iris")
    wait_for_points(page, 100)
    assert page.locator(".example").input_value() == "iris"
    click_at(page, 0.5, 0.95)
    wait_for_points(page, 101)
    assert page.locator(".example").input_value() == ""


def test_a_scene_opens_by_its_link_with_its_task_and_settings(open_page):
    page = open_page("#scene=start")
    page.locator(".task", has_text="starts away from zero").wait_for()
    assert page.locator("#setting-start").input_value() == "3, -2, 1"
    page.locator(".proof", has_text="k₀ = 29.67").wait_for()
    page.locator("#setting-start").fill("0, 0")
    page.locator("#setting-start").press("Enter")
    page.locator(".proof-kind").wait_for()
    page.locator(".proof-view").select_option("potential")
    page.locator(".proof", has_text="k₀ = 27").wait_for()


def test_a_start_that_is_not_a_number_gets_a_message(page):
    page.locator("#setting-start").fill("1, x")
    page.locator("#setting-start").press("Enter")
    page.locator(".message", has_text="the start must be numbers").wait_for()


def test_three_classes_have_three_shapes_and_one_is_chosen(page):
    page.locator(".example").select_option("triangle")
    wait_for_points(page, 6)
    assert page.locator(".point.kind-2 polygon").count() == 2
    page.locator(".target").select_option("2")
    page.locator(".finish").click()
    page.locator(".stop", has_text="separated").wait_for()


def test_a_setting_shows_its_formula_while_it_has_the_focus(page):
    formula = page.locator('[data-setting="threshold"] .formula')
    assert not formula.is_visible()
    page.locator("#setting-threshold").focus()
    assert formula.is_visible()
    assert "y·(w·x + b) ≤ δ" in formula.inner_text()


def test_every_setting_says_what_it_means(page):
    formulas = page.locator(".setting .formula").all_text_contents()
    assert len(formulas) == page.locator(".setting").count() > 15
    assert all(len(formula) > 10 and "undefined" not in formula for formula in formulas)


def test_a_drag_during_a_run_keeps_the_step_and_moves_the_line(page):
    page.locator(".example").select_option("iris")
    wait_for_points(page, 100)
    for _ in range(3):
        page.keyboard.press("m")
        page.locator('.lab-page[aria-busy="false"]').wait_for()
    step = counts(page)["step"]
    page.locator(".fit").click()
    page.locator('.lab-page[aria-busy="false"]').wait_for()
    before = page.locator(".boundary").get_attribute("points")
    grip = page.locator('.point[data-row="50"] .grip').bounding_box()
    x, y = grip["x"] + grip["width"] / 2, grip["y"] + grip["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 60, y + 40, steps=5)
    page.wait_for_function(
        "before => { const find = r => { for (const e of r.querySelectorAll('*')) { "
        "if (e.matches('.plane .boundary')) return e.getAttribute('points'); "
        "const f = e.shadowRoot && find(e.shadowRoot); if (f) return f } }; "
        "return find(document) !== before }",
        arg=before,
    )  # while the button is still down
    page.mouse.up()
    page.locator('.lab-page[aria-busy="false"]').wait_for()
    assert counts(page)["step"] == step


def test_points_that_look_the_same_are_not_drawn_again(page):
    page.locator(".example").select_option("iris")
    wait_for_points(page, 100)
    pages = ".lab-page .plane .point"
    page.locator(pages).evaluate_all("all => all.forEach((one) => { one.drawnBefore = true })")
    page.locator(".step").click()
    wait_for(page, step=1)
    left = page.locator(pages).evaluate_all("all => all.filter((one) => one.drawnBefore).length")
    assert 40 <= left < 100  # the plane has turned: half of the points are on the wrong side now
    page.locator(".back").click()
    wait_for(page, step=0)
    assert points(page) == 100


def test_the_messages_of_a_picture_leave_at_once(page):
    page.locator(".step").click()
    wait_for(page, step=1)
    handlers = [one for one in gc.get_objects() if type(one).__name__ == "Prompt"]
    streams = [one.ws_connection.stream for one in handlers if one.ws_connection]
    options = [one.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) for one in streams]
    assert options
    assert all(options)


def test_the_next_mistake_is_one_click_away_and_its_update_is_drawn(page):
    page.locator(".example").select_option("iris")
    wait_for_points(page, 100)
    page.locator(".to-mistake").click()
    wait_for(page, updates=1)
    page.locator(".to-mistake").click()
    wait_for(page, updates=2)
    assert "a mistake" in page.locator(".step-text").inner_text()
    assert page.locator(".arrow.added").count() == 1
    page.locator(".to-epoch").click()
    wait_for(page, step=100)
    assert page.locator(".epochs-card").is_visible()


def test_two_runs_side_by_side(page):
    page.locator(".compare").check()
    page.locator(".second").wait_for()
    page.locator("#setting-order").select_option("shuffled")
    page.locator("figcaption", has_text="order shuffled").wait_for()
    page.locator(".finish").click()
    page.locator(".stop", has_text="separated").wait_for()
    assert page.locator("figcaption", has_text="separated").count() == 2
    page.locator('[data-which="0"]').click()
    assert page.locator("#setting-order").input_value() == "in order"
    page.locator(".compare").uncheck()
    page.locator(".second").wait_for(state="detached")


def test_a_brush_sprays_points_and_one_undo_takes_the_stroke_back(page):
    page.locator(".clear").click()
    wait_for_points(page, 0)
    box = page.locator(".plane").bounding_box()
    page.mouse.move(box["x"] + 150, box["y"] + 150)
    page.mouse.down()
    page.mouse.move(box["x"] + 350, box["y"] + 200, steps=12)
    page.mouse.up()
    page.locator('.lab-page[aria-busy="false"]').wait_for()
    assert points(page) >= 4
    page.locator(".undo").click()
    wait_for_points(page, 0)


def test_clouds_of_points_have_a_noise_and_can_be_drawn_again(page):
    page.locator(".example").select_option("cloud moons")
    wait_for_points(page, 60)
    first = page.locator('.point[data-row="0"] title').text_content()
    page.locator(".again").click()
    page.locator('.lab-page[aria-busy="false"]').wait_for()
    assert page.locator('.point[data-row="0"] title').text_content() != first
    assert page.locator(".noise").is_visible()


def test_the_arrow_keys_move_the_choice_of_what_a_click_does(page):
    page.locator('[data-mode="+1"]').focus()
    page.keyboard.press("ArrowRight")
    assert page.locator('[data-mode="-1"]').get_attribute("aria-checked") == "true"
    assert counts(page)["step"] == 0
    assert page.locator('.modes [tabindex="0"]').count() == 1


def test_with_several_classes_each_has_a_button(page):
    page.locator(".example").select_option("triangle")
    wait_for_points(page, 6)
    page.locator('[data-mode="class 2"]').click()
    click_at(page, 0.8, 0.8)
    wait_for_points(page, 7)
    assert page.locator(".point.kind-2").count() == 3


def test_a_file_that_is_not_utf8_is_named_as_such(page):
    upload(page, "a,b,label\n1,2,für\n3,4,gegen\n".encode("latin-1"), "alt.csv")
    page.locator(".message", has_text="alt.csv is not UTF-8").wait_for()
    assert points(page) == 4


def test_the_first_visit_gets_a_hint_and_the_second_none(page):
    page.locator(".close-hint").click()
    assert page.locator(".hint").is_hidden()
    page.reload()
    page.locator(".lab-page").wait_for()
    assert page.locator(".hint").is_hidden()


def test_a_program_that_was_started_again_is_found_again(browser):
    pytest.importorskip("panel", reason="panel is not installed")
    from rosenblatt.lab.server import free_port

    port = free_port()
    command = [sys.executable, "-m", "rosenblatt", "lab", "--port", str(port), "--no-show"]
    address, page = f"http://127.0.0.1:{port}/", browser.new_page()
    program = subprocess.Popen(command)
    try:
        wait_until_served(address)
        page.goto(address)
        page.locator(".example").select_option("xor")
        page.locator('.certificate[data-verdict="inseparable"]').wait_for()
        page.wait_for_function("location.hash.startsWith('#s=')")
        program.kill()
        program.wait()
        page.locator(".step").click()
        page.locator(".message", has_text="The program has stopped").wait_for()
        program = subprocess.Popen(command)
        page.locator(".message", has_text="The program has stopped").wait_for(state="hidden")
        page.locator('.certificate[data-verdict="inseparable"]').wait_for()
    finally:
        page.close()
        program.kill()
        program.wait()


def wait_until_served(address):
    for _ in range(300):
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the lab did not start")
