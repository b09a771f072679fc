"""Rules with some numbers each, by name."""

from rosenblatt.rules import gradient as g
from rosenblatt.rules import second_order
from rosenblatt.rules.passive_aggressive import passive_aggressive
from rosenblatt.rules.registry import rules

MEMBERS = {
    "pa": passive_aggressive(1.0, ""),
    "pa1": passive_aggressive(0.25, "I"),
    "pa2": passive_aggressive(0.5, "II"),
    "arow": second_order.Arow(0.5),
    "scw1": second_order.Scw1(second_order.quantile(0.9), 0.5),
    "scw2": second_order.Scw2(second_order.quantile(0.9), 0.5),
    "nherd": second_order.Nherd(2.0),
    "ogd": g.Descent(*g.loss_of("hinge"), 0.0),
    "ogd, l2": g.Descent(*g.loss_of("squared_hinge"), 0.05),
    "ogd, perceptron": g.Descent(*g.loss_of("perceptron"), 0.02),
    "ogd, log": g.Descent(*g.loss_of("log"), 0.02),
    "adagrad, log": g.AdaGrad(*g.loss_of("log"), 0.5, 0.5, 0.01),
    "ftrl, log": g.Ftrl(*g.loss_of("log"), 0.5, 1.0, 0.1, 0.2),
    "adagrad": g.AdaGrad(*g.loss_of("hinge"), 0.5, 0.5, 0.01),
    "ftrl": g.Ftrl(*g.loss_of("hinge"), 0.5, 1.0, 0.1, 0.2),
}
# A rule that is added to the package is tested with the defaults of its parameters.
MEMBERS |= {
    name: rule.with_parameters()
    for name, rule in rules().items()
    if name not in (*MEMBERS, "perceptron")
}


def weights_of(model):
    """The weights that an estimator predicts with: of classes, or of the pairs that vote."""
    return model.pair_coef_ if hasattr(model, "pair_coef_") else model.coef_


def offsets_of(model):
    """The offsets that an estimator predicts with: of classes, or of the pairs that vote."""
    return model.pair_intercept_ if hasattr(model, "pair_coef_") else model.intercept_
