"""Certificates, margins, bounds and risk: what can be proven about a linear classifier.

Four rooms (``docs/theory/map.md`` shows them as a diagram):

``bounds``
    Bounds on the mistakes of a perceptron (`mistake_bounds`), what a finished run proves
    (`run_certificates`), bounds on the errors of the best hyperplane (`best_error_bounds`),
    estimates of the error on new data (`risk`), and the matrix form of a problem (`geometry`).
``margin``
    Lower and upper bounds on the largest margin (`max_margin`).
``search``
    The search for certificates (`certify`): a ladder from the cheapest test to exact simplex
    (`decision_ladder`). Candidates are found in floating point and confirmed in integers.
``checker``
    The independent verifier (`verify`), the certificate (`certificate`), its file format and its
    report. It imports nothing of the other rooms.

``plain_check.py`` is what a proof is: 200 lines of the standard library, with which `verify` has
to agree.

It uses NumPy, SciPy and exact integers, no compiled kernels and none of the learners. Names are
imported when they are first used.
"""

from __future__ import annotations

from rosenblatt._lazy import lazily

_ROOMS = {
    "bounds.best_error_bounds": ("ErrorBracket", "error_bracket"),
    "bounds.geometry": ("dataset_margin", "pad", "point_margins", "premultiply", "radius"),
    "bounds.mistake_bounds": (
        "NonseparableBounds", "best_padding", "general_bound", "margin_gap", "mistake_bound",
        "nonseparable_bounds", "novikoff_bound", "padding_bound",
    ),
    "bounds.risk": (
        "RiskReport", "empirical_risk", "holdout_interval", "risk_report", "vc_bound",
    ),
    "bounds.run_certificates": ("RunCertificate", "cycle_certificate", "run_certificate"),
    "checker.certificate": ("Certificate", "CertificateSet", "CertificateSource", "Combination"),
    "checker.certificate_file": ("load_certificate",),
    "checker.verify": ("Verification", "verify"),
    "margin.max_margin": ("MarginInterval", "max_margin"),
    "search.certify": ("certify",),
}  # fmt: skip

_HOME: dict[str, str | None] = {
    name: f"{__name__}.{room}" for room, names in _ROOMS.items() for name in names
}
__all__ = sorted(_HOME)
__getattr__, __dir__ = lazily(__name__, _HOME, globals())
