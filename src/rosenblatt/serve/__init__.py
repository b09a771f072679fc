"""Online learning as a service: predict, see the label, count the mistake, learn, lose nothing.

``rows``
    Rows and labels from outside, checked and spelled by the columns of a model.
``record``
    The progressive error, and an alarm when it rises.
``online``
    A model that learns the labels of a log: equal logs give equal bits.
``log``, ``postgres``
    The log of predictions and labels, in SQLite or PostgreSQL.
``engine``
    Answers requests in batches: score, log, learn.
``app``, ``guard``, ``openapi``
    The HTTP service, who may use it for how much, and its description.
``replay``
    The model of any moment of a log, without some rows, or by another rule.
"""
