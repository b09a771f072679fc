"""`rosenblatt inspect, explain, compress, export`: what a model holds, and smaller forms of it."""

from __future__ import annotations

import json as json_module
import math
import os
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rosenblatt.cli import options as o
from rosenblatt.cli.lines import (
    WIDTH,
    Line,
    Styled,
    bar,
    epoch_line,
    extent,
    feature_line,
    ngram_range,
    percent,
    readable_size,
    say,
    width,
)
from rosenblatt.errors import OptionError, counted

if TYPE_CHECKING:
    from rosenblatt.models.compress import Compressed
    from rosenblatt.models.explanation import Explanation
    from rosenblatt.models.model import Model

_MOST_COLUMNS = 20  # listed by name


def inspect(
    model: o.ModelFile,
    top: Annotated[int, typer.Option(min=0, help="How many features per class.")] = 10,
    all: Annotated[
        bool, typer.Option("--all", help="Print the weights of all features, as TSV.")
    ] = False,
    names: Annotated[
        str | None,
        typer.Option(help="With --all: name the features that occur in the first rows of a file."),
    ] = None,
    json: o.Json = False,
) -> None:
    """Show a model: its columns, its training history, the strongest features per class.

    Examples:

      rosenblatt inspect reviews.model

      rosenblatt inspect reviews.model --top 25 --json

      rosenblatt inspect reviews.model --all --names reviews.csv > weights.tsv
    """
    from rosenblatt.models.model_file import read_model

    if names is not None and not all:
        raise OptionError("--names is for --all: give both, or neither")
    if all:
        for line in _weight_lines(read_model(model), names):
            typer.echo(line)
        return
    _show_model(read_model(model), model, top, json)


def _show_model(model: Model, path: Path, top: int, as_json: bool) -> None:
    """Print the columns of a model, its history, and the strongest features of each class."""
    if as_json:
        typer.echo(json_module.dumps(_model_record(model)))
        return
    say([Styled(str(path), "strong"), f": {extent(model)}"])
    program = "fastText, file" if model.features.fasttext else f"rosenblatt {model.package} on"
    say(f"trained by {program} {_trained_on(model)}")
    for line in _feature_lines(model):
        say(line)
    for epoch in model.history:
        say(epoch_line(epoch["epoch"], epoch.get("updates", 0), epoch))
    importance = [*model.parameters.get("importance", {}).items()][:top]
    if importance:
        say("", "importance of columns and pairs (mean size of their part of the score):")
    for name, size in importance:
        say(f"  {size:>9.3f}  {name}")
    for name in model.classes:
        pairs = model.words.get(name, [])[:top]
        if pairs:
            say("", Styled(f"strongest features for {name}:", "strong"))
        largest = max((abs(weight) for _, weight in pairs), default=1)
        for word, weight in pairs:
            blocks = bar(weight / largest, "good" if weight > 0 else "bad")
            pad = " " * (22 - len(blocks)) if blocks else ""
            say([f"  {weight:>+9.3f}  ", blocks, pad, word])


def _weight_lines(model: Model, file: str | None) -> Iterator[str]:
    """The biases and the weights of all features as TSV: hashed column, name, weight per class.

    With two classes there is one weight, positive for the second; so there is for each pair of
    classes if pairs vote.
    """
    columns = model.columns.tolist()
    table = None
    if file is not None:
        from rosenblatt import data

        source = data.open([file], features=model.features)
        source.labelled = False
        table = source.first_table()
    spelled = model.features.names(table, columns)
    titles = list(model.classes[1:] if len(model.bias) == 1 else model.classes)
    if model.by_pairs:
        titles = [f"{b} against {a}" for a, b in combinations(model.classes, 2)]
    yield "\t".join(["column", "feature", *titles])
    yield "\t".join(["", "bias", *(f"{weight:.9g}" for weight in model.bias.tolist())])
    for place, column in enumerate(columns):
        weights = model.weights[place].tolist()
        name = spelled.get(column, "").replace("\t", " ")
        yield "\t".join([str(column), name, *(f"{weight:.9g}" for weight in weights)])


def _feature_lines(model: Model) -> list[str]:
    """Lines on the columns of a model, and how they are hashed."""
    f = model.features
    if f.origin != "table":
        return [feature_line(f)]
    lines = [f"label {f.label}; columns {_kinds(f.columns)}"]
    if f.fasttext is not None:
        spec, subwords = f.fasttext, ""
        if spec.high:
            subwords = f", subwords of {max(1, spec.low)} to {spec.high} characters"
        words = f"{counted(spec.n_words, 'word')}{subwords}, n-grams of up to {spec.length}"
        return [*lines, f"{words}, {counted(spec.buckets, 'bucket')}"]
    kinds = {column.kind for column in f.columns}
    if "text" in kinds:
        lines.append(f"n-grams {ngram_range(f.ngrams)}")
    elif "category" in kinds:
        lines.append(f"categories hashed to 2^{f.ngrams.bits} columns")
    return lines


def _kinds(columns: Any) -> str:
    """Names and kinds such as "age (number), job (category)", at most 20 of them."""
    more = ["..."] if len(columns) > _MOST_COLUMNS else []
    return ", ".join([*(f"{c.name} ({c.kind})" for c in columns[:_MOST_COLUMNS]), *more])


def _trained_on(model: Model) -> str:
    files = model.fingerprint.get("files", [])
    return ", ".join(str(file.get("name")) for file in files[:5]) or "unknown files"


def _model_record(model: Model) -> dict[str, Any]:
    return {
        "classes": list(model.classes),
        "n_features": len(model.columns),
        "features": model.features.to_json(),
        "parameters": model.parameters,
        "history": model.history,
        "fingerprint": model.fingerprint,
        "words": model.words,
        "package": model.package,
    }


def explain(
    model: o.ModelFile,
    row: Annotated[
        str,
        typer.Argument(
            help="A text; a JSON object with the value of each column; a line of features, for "
            "models of svmlight and Vowpal Wabbit files; or a file, or - for standard input, to "
            "explain every row of."
        ),
    ],
    label: Annotated[
        str | None,
        typer.Option(
            "--label", "-l", help="The class to explain; by default that of the largest score."
        ),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many features to name.")] = 20,
    json: o.Json = False,
) -> None:
    """Explain the score of a row as the sum of the contributions of its features.

    With two classes there is one score, positive for the second.

    Examples:

      rosenblatt explain reviews.model "not bad at all, great fun"

      rosenblatt explain adult.model '{"age": 39, "job": "tech"}'

      rosenblatt explain news.model "the orbit of the moon" --label sci.space

      rosenblatt explain clicks.model test.vw --top 5 | less
    """
    from rosenblatt.models.model_file import read_model

    loaded = read_model(model)
    is_file = row == "-" or os.path.isfile(row)  # noqa: PTH113 - a Path raises for a long text
    for number, one in enumerate(_rows_of(loaded, row) if is_file else [_row(loaded, row)]):
        explanation = loaded.explain(one)
        if json:
            typer.echo(json_module.dumps(explanation.to_json()))
            continue
        if number:
            say("")
        for line in _lines(explanation, label, top):
            say(line)


def _rows_of(model: Model, file: str) -> Iterator[Any]:
    """The rows of a file, each as :meth:`Model.explain` takes it."""
    from rosenblatt import data

    source = data.open([file], features=model.features, live=True)
    source.labelled = False
    if model.features.origin != "table":
        for line in source.lines():
            yield _row(model, line)
        return
    for batch in source:
        assert batch.table is not None, "tables have columns"
        for i in range(len(batch)):
            yield batch.table.slice(i, 1)


def _row(model: Model, text: str) -> Any:
    """The row in the form that the model takes: a text, a line, or a dict of columns."""
    if model.features.origin == "svmlight":
        words = text.partition("#")[0].split()
        pairs = [word.partition(":") for word in words if ":" in word]
        return {number: value for number, _, value in pairs if number != "qid"}
    if text.lstrip().startswith("{") and model.features.origin == "table":
        try:
            return json_module.loads(text)
        except ValueError as error:
            raise ValueError(f"the row is not a JSON object: {error}") from None
    return text


def _lines(explanation: Explanation, label: str | None, top: int) -> list[Line]:
    """The lines of an explanation, with bars on a terminal."""
    features, others, bias, score = explanation.sum_of(top, label)
    takes_label = label is not None and len(explanation.bias) > 1
    explained = label if takes_label else explanation.explained
    predicted = Styled(explanation.predicted, "strong")
    lines: list[Line] = [
        ["predicted ", predicted, f"; the score of {explained} is made of"],
    ]
    count = sum(1 for _, value in explanation.top(None, label) if value) - len(features)
    parts = [(str(name), value) for name, value in features]
    if count > 0:
        parts.append((counted(count, "other feature"), others))
    largest = max((abs(value) for _, value in (*parts, ("bias", bias))), default=0) or 1

    def part(name: str, value: float) -> Line:
        blocks = bar(value / largest, "good" if value > 0 else "bad")
        pad = " " * (22 - len(blocks)) if blocks else ""
        room = width() if blocks else WIDTH
        return [f"{value:>+10.4f}  ", blocks, pad, name[: room - 12 - len(blocks + pad)]]

    lines += [part(name, value) for name, value in parts]
    contributes = (explanation.contributions != 0).any(axis=1)
    unknown = len(explanation.features) - int(contributes.sum())
    note = f"  ({counted(unknown, 'feature')} of the row without weight)" if unknown else ""
    total = Styled(f"{score:>+10.4f}  score", "strong")
    return [*lines, part("bias", bias), [total, note]]


def compress(
    model: o.ModelFile,
    out: Annotated[Path, typer.Option("--out", "-o", help="The small model file.")],
    size: Annotated[
        str | None, typer.Option(help="The most the file may take, such as 2MB or 300kB.")
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option(help="Accuracy on --valid that may be lost, in points, such as 0.1%."),
    ] = None,
    valid: Annotated[
        list[str] | None, typer.Option(help="Files with labels to measure the accuracy on.")
    ] = None,
    format: o.Format = None,
    header: o.Header = None,
    skip_bad_rows: o.SkipBadRows = False,
    quiet: o.Quiet = False,
    json: o.Json = False,
) -> None:
    """Make a model small; it predicts like any model.

    What only training needs is dropped, weights are rounded to float16 or int8, knots between
    which curves of columns are straight are merged, and the weights that change the scores least
    are left out, until the size or the loss asked for is reached. Without
    --size and --loss, weights become int8 and none is left out; --loss 0% without --valid drops
    only what only training needs. Training --from the small model goes on from its rounded
    weights, without their average: go on from the large one.

    Examples:

      rosenblatt compress reviews.model --out small.model --size 2MB

      rosenblatt compress reviews.model -o small.model --loss 0.1% --valid valid.csv
    """
    from rosenblatt.atomic_files import check_output
    from rosenblatt.models.compress import compress as run
    from rosenblatt.models.compress import parse_share, parse_size
    from rosenblatt.models.model_file import read_model

    most = None if size is None else parse_size(size)
    may_lose = None if loss is None else parse_share(loss)
    check_output(out, [model, *(valid or ())], "model")
    loaded = read_model(model)
    reading = {"format": format, "header": header, "skip_bad_rows": skip_bad_rows}
    rows = o.labelled_rows(loaded, valid, **reading) if valid else None
    forms = run(loaded, size=most, loss=may_lose, rows=rows)
    forms[-1].model.save(out)
    if json:
        records = [_size_record(form) for form in forms]
        typer.echo(json_module.dumps({"model": str(out), "forms": records}))
    elif not quiet:
        for line in _table(forms, out):
            say(line)


def _size_record(form: Compressed) -> dict[str, Any]:
    accuracy = form.accuracy if form.accuracy == form.accuracy else None
    return {
        "bytes": form.bytes,
        "accuracy": accuracy,
        "precision": form.model.precision,
        "features": len(form.model.columns),
        "weights": form.weights,
        "change": form.bound,
    }


def _table(forms: list[Compressed], out: Path) -> list[str]:
    is_measured = not math.isnan(forms[-1].accuracy)
    heading = f"{'accuracy':>9}  " if is_measured else ""
    lines = [f"{'size':>10}  {heading}weights"]
    for form in forms:
        state = ", with what only training needs" if form.model.state else ""
        accuracy = f"{percent(form.accuracy):>9}  " if is_measured else ""
        weights = f"{counted(form.weights, 'weight')} in {form.model.precision}{state}"
        lines.append(f"{readable_size(form.bytes):>10}  {accuracy}{weights}")
    last = forms[-1]
    features = counted(len(last.model.columns), "feature")
    if last.bound > 0:
        lines.append(f"merged knots change a score by at most {last.bound:.2g}")
    return [*lines, f"{out}: {readable_size(out.stat().st_size)}, {features}"]


def import_(
    file: Annotated[Path, typer.Argument(help="A .bin or .ftz file of fastText.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The model file; by default its name.model.")
    ] = None,
    text: Annotated[str, typer.Option(help="The column of tables that holds the text.")] = "text",
    label: Annotated[
        str, typer.Option("--label", "-l", help="The column of tables that holds the label.")
    ] = "label",
    several: Annotated[
        bool,
        typer.Option(
            "--several",
            help="Predict all labels of a probability above one half, for the losses ova and ns.",
        ),
    ] = False,
    quiet: o.Quiet = False,
) -> None:
    """Make a model of a classifier that fastText trained, with the same probabilities.

    It predicts, evaluates, explains and is compressed like any other model.

    Examples:

      rosenblatt import quality.bin

      rosenblatt import lid.176.ftz --out languages.model --text content
    """
    o.disable_blas_threads()
    from rosenblatt.atomic_files import check_output
    from rosenblatt.models.fasttext_file import from_fasttext

    target = Path(f"{o.stem(str(file))}.model") if out is None else out
    check_output(target, [file], "model")
    model = from_fasttext(file, text=text, label=label, several=several)
    model.save(target)
    if not quiet:
        sizes = [readable_size(path.stat().st_size) for path in (file, target)]
        say(f"{target}: {extent(model)}, {sizes[1]} (the file of fastText: {sizes[0]})")


def export(
    model: o.ModelFile,
    out: Annotated[Path, typer.Option("--out", "-o", help="The .onnx file to write.")],
    names: Annotated[
        str | None,
        typer.Option(help="A file of rows with the categories that the ONNX model is to know."),
    ] = None,
) -> None:
    """Write a model of numbers and categories as ONNX, with probabilities.

    The ONNX model takes one matrix of floats with a column per feature; if there are categories,
    each column by its name, with shape (rows, 1). It is checked with onnxruntime.

    Examples:

      rosenblatt export flowers.model --out flowers.onnx

      rosenblatt export adult.model --names adult.csv --out adult.onnx
    """
    from rosenblatt import data
    from rosenblatt.atomic_files import check_output
    from rosenblatt.models.model_file import read_model
    from rosenblatt.models.onnx import export_onnx

    check_output(out, [model], "model")
    if out.suffix != ".onnx":
        raise OptionError(f"{out}: a model is exported to an .onnx file")
    loaded = read_model(model)
    tables: Iterator[Any] = iter(())
    if names is not None:
        source = data.open([names], features=loaded.features)
        source.labelled = False
        tables = (batch.table for batch in source)
    export_onnx(loaded, out, tables)
    say(f"{out}: {readable_size(out.stat().st_size)}")
