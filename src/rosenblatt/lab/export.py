"""Files the lab can export: an animation, the data, and the certificate."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from rosenblatt.lab.session import SECONDS_TO_DECIDE, Session
from rosenblatt.lab.state import Data
from rosenblatt.theory import CertificateSource, certify

MOST_FRAMES = 40


def export(session: Session, kind: str) -> tuple[str, str, bytes]:
    """Name, media type and content of an exported file of this kind.

    Examples
    --------
    >>> name, media, content = export(Session(), "csv")
    >>> name, content.decode().splitlines()[:2]
    ('perceptron.csv', ['row,p,q,label', 'neither,0.0,0.0,false'])
    """
    if kind not in _KINDS:
        raise ValueError(f"the lab exports {', '.join(_KINDS)}, not {kind!r}")
    media, make = _KINDS[kind]
    return f"perceptron.{kind}", media, make(session)


def _animation(session: Session) -> bytes:
    from rosenblatt.viz import animate

    if not session.data.planar:
        raise ValueError("an animation needs two features")
    points = np.array(session.data.X)
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "run.gif"
        run = session.trace()
        lift = session.lift if session.settings.lift != "none" else None
        animate(run, target, max_frames=MOST_FRAMES, dpi=80, points=points, lift=lift)
        return target.read_bytes()


def _table(session: Session) -> bytes:
    data, file = session.data, io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    names = [] if data.row_names is None else ["row"]
    writer.writerow([*names, *data.feature_names, "label"])
    for i, (row, label) in enumerate(zip(data.X, _labels(data), strict=True)):
        named = [] if data.row_names is None else [data.row_names[i]]
        writer.writerow([*named, *row, label])
    return file.getvalue().encode()


def _certificate(session: Session) -> bytes:
    """Whether a line separates the rows as they are in the exported table, with the proof."""
    if session.settings.lift != "none":
        raise ValueError("a certificate is about the rows of the table: set the lift to none")
    if session.certificate is None:
        raise ValueError("a certificate needs points of both labels")
    data = session.data
    source = CertificateSource("label", True, data.feature_names, "doubles")
    bias, limit = session.settings.bias, SECONDS_TO_DECIDE
    certificate = certify(
        np.array(data.X), np.array(_labels(data)), fit_intercept=bias, time_limit=limit
    )
    return json.dumps(certificate.with_source(source).to_dict()).encode()


def _labels(data: Data) -> list[str]:
    """The label of each row, as text."""
    if data.labels is not None:
        return [data.all_classes[label] for label in data.labels]
    named = data.class_names != ("-1", "+1")
    return [data.class_names[sign > 0] if named else str(sign) for sign in data.signs]


_KINDS: dict[str, tuple[str, Callable[[Session], bytes]]] = {
    "gif": ("image/gif", _animation),
    "csv": ("text/csv", _table),
    "certificate": ("application/json", _certificate),
}
