"""`rosenblatt serve` and `replay`: online learning as a service, and its log learned again."""

from __future__ import annotations

import json as json_module
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rosenblatt.cli import options as o
from rosenblatt.cli.lines import say
from rosenblatt.errors import OptionError, counted

if TYPE_CHECKING:
    from rosenblatt.models.model import Model
    from rosenblatt.serve.log import Log

LOG, LIMITS = "Log", "Limits"
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
LogName = Annotated[
    str, typer.Argument(help="The log: a file, or postgresql://USER@HOST/DATABASE.")
]


def serve(
    model: Annotated[
        Path | None, typer.Argument(help="The model to serve, if nothing is learned.")
    ] = None,
    learn: Annotated[
        bool,
        o.option(LOG, "Learn the labels of the log, as the only process that does.", "--learn"),
    ] = False,
    log: Annotated[
        str | None,
        o.option(
            LOG,
            "The log of predictions and labels: a file, or postgresql://USER@HOST/DATABASE. "
            "Without --learn the server answers by it and follows its learner.",
            "--log",
        ),
    ] = None,
    start: Annotated[
        Path | None, o.option(LOG, "The model that a new log begins with.", "--from")
    ] = None,
    text: Annotated[
        list[str] | None,
        o.option(LOG, "Without --from: a column of text. Default: text. Repeat for several."),
    ] = None,
    column: Annotated[
        list[str] | None,
        o.option(
            LOG,
            "Without --from: a further column, as NAME=category or NAME=number. Numbers are "
            "taken as they are: scale them, or begin with a model. Repeat for several.",
            metavar="NAME=KIND",
        ),
    ] = None,
    chars: Annotated[bool, o.training_option("analyzer")] = False,
    ngrams: Annotated[str | None, o.training_option("ngrams")] = None,
    bits: Annotated[int | None, o.training_option("bits")] = None,
    rule: Annotated[
        str | None,
        o.option(
            LOG, "The learning rule, as in rosenblatt train. Default: that of --from, or arow."
        ),
    ] = None,
    threshold: Annotated[float | None, o.training_option("threshold")] = None,
    padding: Annotated[float | None, o.training_option("padding")] = None,
    average: Annotated[bool | None, o.training_option("average")] = None,
    forget_after: Annotated[
        str | None,
        o.option(
            LOG,
            "Keep the columns of rows this long, as 30d, 12h: then labelled rows become hashed "
            "features, by which a replay gives the same bits, and others are dropped.",
            metavar="TIME",
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(help="The address to listen at; others than the default need tokens.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port.")] = 7674,
    name: Annotated[
        list[str] | None,
        typer.Option(help="A host name that clients use, behind a proxy. Repeat for several."),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(help="A file with the lines 'predict TOKEN' and 'label TOKEN'."),
    ] = None,
    max_body: Annotated[int, o.option(LIMITS, "Megabytes of a request.", min=1, max=1000)] = 8,
    max_rows: Annotated[int, o.option(LIMITS, "Rows of a request.", min=1)] = 10_000,
    queue: Annotated[
        int, o.option(LIMITS, "Rows that may wait; more requests are refused (429).", min=1)
    ] = 20_000,
    timeout: Annotated[float, o.option(LIMITS, "Seconds until a request is given up.", min=1)] = 30,
) -> None:
    """Answer predictions over HTTP, take labels at any later time, and learn from them.

    The log holds every prediction that may be labelled and every label before they are
    acknowledged. The model depends on its start and on the labels in their order alone: killed and
    started again, the service has the same model to the last bit.

    Examples:

      rosenblatt serve reviews.model

      rosenblatt serve --learn --log events.db

      rosenblatt serve --learn --log events.db --from reviews.model --token-file tokens

      rosenblatt serve --log postgresql://me@db/reviews --port 7675
    """
    o.disable_blas_threads()
    from rosenblatt.models.model_file import read_model
    from rosenblatt.serve.app import serve as run
    from rosenblatt.serve.engine import Engine
    from rosenblatt.serve.guard import Limits, Tokens

    hashing = {"ngrams": ngrams, "analyzer": "char" if chars else None, "bits": bits}
    learning = {"rule": rule, "threshold": threshold, "padding": padding, "average": average}
    columns = {"text": text, "columns": column}
    tokens = None if token_file is None else Tokens.read(token_file)
    limits = Limits(max_body << 20, max_rows, timeout, queue)
    if log is None:
        if learn or model is None:
            raise OptionError("name a model to serve, or a log with --log LOG (and --learn)")
        engine = Engine(read_model(model))
    else:
        if model is not None:
            raise OptionError(f"a log has its own model; to begin one with {model} say --from")
        begun = _begun(log, learn, start, o.training_options(hashing | learning | columns))
        seconds = None if forget_after is None else _seconds(forget_after)
        engine = Engine(log=begun, learns=learn, forget_after=seconds)
    run(engine, host=host, port=port, names=name or [], tokens=tokens, limits=limits)


def _begun(log: str, learn: bool, start: Path | None, options: Any) -> Log:
    """The log, which is begun if it is new."""
    from rosenblatt.models.model_file import read_model
    from rosenblatt.serve.log import open_log
    from rosenblatt.serve.online import SETTINGS, Start

    opened = open_log(log, create=learn)
    model = None if start is None else read_model(start)
    if not opened.exists() and learn:
        opened.begin(Start.of(options, _features(options, model), model))
        return opened
    settings = opened.about()["settings"]
    for name in SETTINGS:
        value = getattr(options, name)
        if value is not None and value != settings[name]:
            raise OptionError(
                f"the log was begun with {name} {settings[name]}: drop the option, or begin a new "
                "log (rosenblatt replay --rule tries another rule)"
            )
    before = opened.start()
    if model is not None and (before.model is None or not _equal(before.model, model)):
        raise OptionError(f"the log was begun with another model than {start}: drop --from")
    options_of_rows = (options.text, options.columns, options.ngrams, options.bits)
    if options_of_rows != (None,) * 4 and _features(options, None) != before.features:
        raise OptionError("the log was begun with other columns or n-grams: drop those options")
    return opened


def _features(options: Any, model: Model | None) -> Any:
    """The features of a new log: those of its model, or of options."""
    from rosenblatt.data.columns import column_of
    from rosenblatt.data.features import Features

    if model is not None:
        if (options.text, options.columns, options.ngrams, options.bits) != (None,) * 4:
            raise OptionError("--from MODEL fixes columns and n-grams: drop those options")
        return model.features
    kinds = dict(options.columns or {})
    texts = list(options.text or ([] if kinds else ["text"]))
    columns = [
        column_of(name, kind) for name, kind in [*((t, "text") for t in texts), *kinds.items()]
    ]
    if len({c.name for c in columns}) < len(columns):
        raise OptionError("a column is named twice")
    return Features(columns=tuple(columns), label="label", ngrams=options.hashing())


def _equal(one: Model, other: Model) -> bool:
    import numpy as np

    arrays = (one.columns, other.columns), (one.weights, other.weights), (one.bias, other.bias)
    same = all(np.array_equal(a, b) for a, b in arrays)
    return same and one.features == other.features and one.classes == other.classes


def _seconds(text: str) -> float:
    """The seconds of 30d, 12h, 5m or 60s."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", text.strip())
    if match is None:
        raise OptionError(f"{text!r} is not a time: say 30d, 12h, 5m or 60s")
    return float(match[1]) * _SECONDS[match[2]]


def replay(
    log: LogName,
    until: Annotated[
        str | None,
        typer.Option(help="Learn labels up to this time: 2025-03-31, 2025-03-31T17:30, seconds."),
    ] = None,
    without: Annotated[
        str | None,
        typer.Option(help="Ids of rows to leave out, as A,B: as if they had never been there."),
    ] = None,
    rule: Annotated[
        str | None,
        typer.Option(help="Another learning rule, such as arow:r=0.5: what it would have done."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The model file to write.")
    ] = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Learn the labels of a log again: the model of any moment, without some rows, or by a rule.

    The error is progressive: each row was predicted before its label was known. With --rule each
    row is predicted again, by the model that the rule would have had at that moment.

    Examples:

      rosenblatt replay events.db --until 2025-03-31T17:30 --out march.model

      rosenblatt replay events.db --without 01a1f0b1a526241d4aa6fd8a --out without.model

      rosenblatt replay events.db --rule arow
    """
    o.disable_blas_threads()
    from rosenblatt.atomic_files import check_output
    from rosenblatt.serve.replay import replay as learn_again

    if out is not None:
        check_output(out, [log], "model")
    ids = [id.strip() for id in (without or "").split(",") if id.strip()]
    ended = learn_again(log, until=until, without=ids, rule=rule)
    record, online = ended.online.record, ended.online
    if out is not None:
        if len(online.classes) < 2:
            raise ValueError("there is no model yet: labels of two classes are needed")
        online.exported().save(out)
    error = record.error if record.labels else None
    plain = {
        "labels": ended.labels, "left_out": ended.left_out, "classes": online.classes,
        "rule": online.start.settings["rule"], "error": error, "mistakes": record.mistakes,
        "by_class": record.by_class, "out": None if out is None else str(out),
    }  # fmt: skip
    if json:
        say(json_module.dumps(plain))
    elif not quiet:
        left = f", {counted(ended.left_out, 'label')} left out" if ids else ""
        say(f"{counted(ended.labels, 'label')} learned{left}")
        if record.labels:
            say(f"progressive error {error:.2%}: {counted(record.mistakes, 'mistake')}")
        for label, (labels, mistakes) in sorted(record.by_class.items()):
            say(f"  {label}: {mistakes:,} of {labels:,} mistaken")
        if out is not None:
            say(f"{out}: the model at position {online.position:,}")
