"""Blocks of a page run in order and their output stands below them."""

from pathlib import Path

import pytest

from rosenblatt.course.cells import CellError, execute, with_scenes


def run(page, folder, command=None):
    return execute(page, folder, prefix="page", link="figures", command=command)


def test_blocks_share_their_names_and_show_what_they_print_and_their_last_value(tmp_path):
    page = "a\n\n```python\nx = 2\nprint('x is', x)\n```\n\nb\n\n```python\nx + 1\n```\n"
    done = run(page, tmp_path)
    assert "```output\nx is 2\n```" in done
    assert "```output\n3\n```" in done


def test_a_picture_is_saved_and_described_by_the_figure_line(tmp_path):
    pytest.importorskip("matplotlib")
    page = "```python\n# Figure: a line\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])\n```\n"
    done = run(page, tmp_path / "pictures")
    assert "![a line](figures/page-1.png)" in done
    assert "# Figure" not in done
    assert "```output" not in done  # the list of lines says nothing
    assert (tmp_path / "pictures" / "page-1.png").read_bytes().startswith(b"\x89PNG")


def test_code_that_only_draws_is_folded_below_the_picture_and_its_caption(tmp_path):
    pytest.importorskip("matplotlib")
    teaches = "# Figure: a line\nx = 2\nprint(x)\n"
    draws = "import matplotlib.pyplot as plt\nplt.plot([1, x])\n"
    done = run(f"```python\n{teaches}# Drawing:\n{draws}```\n", tmp_path)
    shown, picture, folded = done.partition("![a line](figures/page-1.png)\n\n*a line*\n")
    assert "x = 2" in shown
    assert "plt" not in shown
    assert picture
    assert folded.index("<details") < folded.index("plt.plot([1, x])") < folded.index("</details>")


def test_commands_run_and_pipes_shorten_them(tmp_path):
    said = []

    def command(words):
        said.append(words)
        return "one\ntwo\nthree\n"

    page = "```console\n$ rosenblatt trace 'a b.csv' | head -2\n$ rosenblatt lab\n$ pip list\n```\n"
    done = run(page, tmp_path, command)
    assert said == [["trace", "a b.csv"]]
    assert "head -2\none\ntwo\n$ rosenblatt lab\n$ pip list\n```" in done
    assert "three" not in done


def test_printf_makes_a_file_for_the_commands_and_a_command_may_take_several_lines(tmp_path):
    def command(words):
        return Path(words[1]).read_text("utf-8")

    page = "```console\n$ printf '%s\\n' a \\\n    b > rows.csv\n$ rosenblatt show rows.csv\n```\n"
    done = run(page, tmp_path, command)
    assert "a \\\n    b > rows.csv\n$ rosenblatt show rows.csv\na\nb\n" in done


def test_a_scene_of_a_page_may_be_open_at_once(tmp_path):
    done = with_scenes("```{scene} movies open\n```\n", "../scenes")
    assert 'data-scene="movies" data-open' in done
    assert 'src="../scenes/scenes.js"' in done


def test_a_console_block_that_shows_its_output_is_left_alone(tmp_path):
    page = "```console\n$ rosenblatt train big.tsv\n91 %\n```\n"
    assert run(page, tmp_path, lambda words: "no") == page


def test_a_block_that_fails_names_the_error_and_itself(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CellError, match=r"ZeroDivisionError(.|\n)*1 / 0"):
        run("```python\n1 / 0\n```\n", tmp_path)
    from pathlib import Path

    assert Path.cwd() == tmp_path
