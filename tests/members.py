"""One rule of each member of the family, by name."""

from rosenblatt.rules import gradient as g
from rosenblatt.rules import projected, second_order
from rosenblatt.rules.passive_aggressive import passive_aggressive

MEMBERS = {
    "pa": passive_aggressive(1.0, ""),
    "pa1": passive_aggressive(0.25, "I"),
    "pa2": passive_aggressive(0.5, "II"),
    "arow": second_order.Arow(0.5),
    "narow": second_order.Narow(4.0),
    "cw": second_order.Cw(second_order.quantile(0.8)),
    "scw1": second_order.Scw1(second_order.quantile(0.9), 0.5),
    "scw2": second_order.Scw2(second_order.quantile(0.9), 0.5),
    "nherd": second_order.Nherd(2.0),
    "sop": second_order.Sop(0.0),
    "alma": projected.Alma(0.5, 8**0.5 / 0.5, 2**0.5, 1.0),
    "romma": projected.Romma(0.0),
    "aromma": projected.Romma(1.0),
    "ogd": g.Descent(*g.loss_of("hinge"), 0.0),
    "ogd, l2": g.Descent(*g.loss_of("squared_hinge"), 0.05),
    "ogd, elastic net": g.Truncated(*g.loss_of("perceptron"), 0.02, 0.03),
    "adagrad": g.AdaGrad(*g.loss_of("hinge"), 0.5, 0.5, 0.01),
    "ftrl": g.Ftrl(*g.loss_of("hinge"), 0.5, 1.0, 0.1, 0.2),
}
