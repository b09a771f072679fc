"""`rosenblatt evaluate`: which classes are mistaken for each other, in 80 columns."""

import pytest
from typer.testing import CliRunner

from rosenblatt import train
from rosenblatt.cli import app
from rosenblatt.cli.lines import WIDTH


@pytest.mark.parametrize("classes", [2, 10, 30])
def test_the_classes_mistaken_for_each_other_have_room(tmp_path, classes):
    labels = [f"{i % classes}" for i in range(60 * classes)]
    table = {"label": labels, "x": [i % classes + i % 7 for i in range(60 * classes)]}
    train(table, epochs=1, lift="none").save(tmp_path / "a.model")
    lines = [f"{label},{x}\n" for label, x in zip(*table.values(), strict=True)]
    (tmp_path / "a.csv").write_text("label,x\n" + "".join(lines))
    arguments = ["evaluate", str(tmp_path / "a.model"), str(tmp_path / "a.csv")]
    output = CliRunner().invoke(app, arguments).stdout
    assert max(map(len, output.splitlines())) <= WIDTH
    if classes == 30:
        _, mistakes = output.split("most frequent mistakes (all of them: --json, --plot FILE)\n")
        counts = [int(line.split()[0]) for line in mistakes.splitlines()]
        assert counts == sorted(counts, reverse=True)
        assert all(" predicted as " in line for line in mistakes.splitlines())
    else:
        heading, *matrix = output[output.index(r"actual \ predicted") :].splitlines()
        assert len(heading.split()) == classes + 3
        assert all(sum(map(int, line.split()[1:])) == 60 for line in matrix)
