"""Certificates, margins, bounds and risk: what can be proven about a linear classifier.

NumPy, SciPy, exact whole numbers, and compiled loops over sparse rows. Nothing here imports the
engine that trains.
"""

from rosenblatt.theory.bounds.best_error_bounds import ErrorBracket, error_bracket
from rosenblatt.theory.bounds.budgets import forgetron_bound, projection_bound, random_removal_bound
from rosenblatt.theory.bounds.geometry import (
    dataset_margin,
    pad,
    point_margins,
    premultiply,
    radius,
)
from rosenblatt.theory.bounds.mistake_bounds import (
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
from rosenblatt.theory.bounds.risk import (
    RiskReport,
    empirical_risk,
    holdout_interval,
    leave_one_out,
    online_to_batch,
    risk_report,
    vc_bound,
)
from rosenblatt.theory.bounds.run_certificates import (
    RunCertificate,
    cycle_certificate,
    run_certificate,
)
from rosenblatt.theory.checker.certificate import (
    Certificate,
    CertificateSet,
    Combination,
    load_certificate,
)
from rosenblatt.theory.checker.verify import Verification, verify
from rosenblatt.theory.margin.max_margin import MarginInterval, max_margin
from rosenblatt.theory.search.certify import certify

__all__ = [
    "Certificate",
    "CertificateSet",
    "Combination",
    "ErrorBracket",
    "MarginInterval",
    "NonseparableBounds",
    "RiskReport",
    "RunCertificate",
    "Verification",
    "best_padding",
    "certify",
    "cycle_certificate",
    "dataset_margin",
    "empirical_risk",
    "error_bracket",
    "final_margin",
    "forgetron_bound",
    "general_bound",
    "holdout_interval",
    "leave_one_out",
    "load_certificate",
    "margin_gap",
    "max_margin",
    "mistake_bound",
    "multiclass_bound",
    "nonseparable_bounds",
    "novikoff_bound",
    "online_to_batch",
    "pad",
    "padding_bound",
    "point_margins",
    "premultiply",
    "projection_bound",
    "proof_curves",
    "radius",
    "random_removal_bound",
    "risk_report",
    "run_certificate",
    "vc_bound",
    "verify",
]
