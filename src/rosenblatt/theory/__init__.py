"""Certificates, margins, bounds and risk: what can be proven about a linear classifier.

NumPy, SciPy and exact whole numbers. Nothing here imports the engine that trains.
"""

from rosenblatt.theory.bounds import (
    NonseparableBounds,
    best_padding,
    final_margin,
    general_bound,
    margin_gap,
    mistake_bound,
    multiclass_bound,
    nonseparable_bounds,
    novikoff_bound,
    padding_bound,
    proof_curves,
)
from rosenblatt.theory.certificate import (
    Certificate,
    CertificateSet,
    Combination,
    load_certificate,
)
from rosenblatt.theory.certify import certify
from rosenblatt.theory.geometry import dataset_margin, pad, point_margins, premultiply, radius
from rosenblatt.theory.margin import MarginInterval, max_margin
from rosenblatt.theory.verify import Verification, verify

__all__ = [
    "Certificate",
    "CertificateSet",
    "Combination",
    "MarginInterval",
    "NonseparableBounds",
    "Verification",
    "best_padding",
    "certify",
    "dataset_margin",
    "final_margin",
    "general_bound",
    "load_certificate",
    "margin_gap",
    "max_margin",
    "mistake_bound",
    "multiclass_bound",
    "nonseparable_bounds",
    "novikoff_bound",
    "pad",
    "padding_bound",
    "point_margins",
    "premultiply",
    "proof_curves",
    "radius",
    "verify",
]
