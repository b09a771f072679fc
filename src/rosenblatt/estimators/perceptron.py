"""The perceptron as a scikit-learn classifier."""

from __future__ import annotations

from dataclasses import replace
from typing import Self

from sklearn.utils.validation import check_is_fitted

from rosenblatt.estimators._classifier import WITH_AUTO
from rosenblatt.estimators._linear import LinearClassifier


class Perceptron(LinearClassifier):
    """The perceptron: online or batch, averaged, last or best weights, two classes or many.

    The defaults are those with the least error on data they were not tuned for: averaged weights,
    a threshold in units of the data, several classes one against one (see *Which settings?* in the
    guide). :meth:`textbook` is the algorithm of the notes.

    A mistake, a step, an update and an average are defined in :mod:`rosenblatt.reference`, which is
    the specification: on integer-valued data this class takes exactly the same steps.

    Parameters
    ----------
    eta0 : float, default=1.0
        Learning rate. From zero weights, with threshold ``"auto"`` or 0, it only scales weights.
    learning_rate : {"constant", "inverse", "sqrt"} or callable, default="constant"
        η0, η0/t, η0/√t, or a function of the visit number t = 1, 2, ... (of the iteration, for the
        batch rule).
    threshold : float or "auto", default="auto"
        δ: an example is corrected when its margin ``y·s`` is at most this. ``"auto"`` is twice
        what an update by a row of typical length adds to its own margin, ``2·η0·(mean ‖x‖² + c²)``,
        so that scaling X changes nothing. For `partial_fit` the mean is that of the rows seen when
        their number was last a power of two, up to 256. (0 where `mistake` is "sign".)
    mistake : {"margin", "sign"}, default="margin"
        Whether a score of exactly zero is corrected for both classes, or only for the positive.
    update : {"online", "batch"}, default="online"
        Correct each mistake at once, or all mistakes of an epoch together.
    keep : {"average", "late_average", "last", "best"}, default="average"
        The weights to predict with: the mean over all steps, or over about the last half of them
        (since the number of epochs last doubled); the last; or the best seen, by the validation set
        if there is one, else by the training error (Gallant's pocket with ratchet; the algorithm of
        the notes for ``update="batch"``; with three classes or more those at epoch ends).
    multiclass : {"auto", "ovr", "ovo", "joint"}, default="auto"
        With three classes or more: one against the rest, largest score; one against one, majority
        vote, ties by summed scores; or all jointly, where one update moves the right class up and
        the best wrong class down. ``"auto"`` is one against one for up to 16 classes where a
        pair has as many rows as there are features, else jointly; with `partial_fit`, where that is
        not known, jointly.
    fit_intercept : bool, default=True
        Whether to learn an offset b, or a classifier through the origin.
    intercept_scaling : float or "auto", default="auto"
        The padding constant c. ``"auto"`` is half the root mean square length of the rows.
    scale : "auto" or None, default="auto"
        Whether to scale the columns inside, so that their units do not matter: `coef_` and
        `intercept_` are those of the columns as given, all else is in scaled units. Each factor is
        a power of two. Dense columns are centred, too; sparse ones are scaled only if their numbers
        are more than 16 times as large as usual, or as small. `partial_fit` scales dense rows by
        those before them, and sparse ones as `fit` did. (None with `feature_rates`.)
    feature_rates : "idf" or None, default=None
        A learning rate per feature: ``"idf"`` is the square of its inverse document frequency in
        the first 4,096 rows, which is learning from idf-weighted rows; recommended for text.
    shuffle : bool, "after_first" or array of row numbers, default=True
        The order of an epoch: a new permutation; as given (False); as given in the first epoch and
        permuted after it, as files are read; or these rows, every epoch.
        With True the model depends on the examples as a set and on `random_state`, not on how the
        rows were sorted, and a row of weight 2 is the same as the row twice.
    max_iter : int, default=1000
        The largest number of epochs.
    tol : float, "auto" or None, default="auto"
        Stop when the weights move less than this in an epoch, relative to their length, or when
        the updates per epoch, as a share of the steps, have not fallen by more than this for
        `n_iter_no_change` epochs. ``"auto"`` is 0.005, or 0.001 with `early_stopping`. None: only
        an epoch without a mistake or the budget ends a run.
    early_stopping : bool, default=False
        Stop when the error on held-out rows has not fallen for `n_iter_no_change` epochs, and
        return the weights of the best epoch.
    validation_fraction : float, default=0.1
        Share of the rows to hold out when `early_stopping` is set and no X_val is given.
    n_iter_no_change : int or "auto", default="auto"
        How many epochs to wait for progress. ``"auto"`` is 3, or 5 with `early_stopping`.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, relative to the largest of them (or to 1, if that is larger): the rows
        of a class with half of it are learned from at half the learning rate.
    n_jobs : int or None, default=None
        Threads for the pass over all rows before training and for the classes (or pairs), if there
        is enough work. The model is the same for any number. None is 1, -1 all cores that the
        process may use.
    random_state : int, RandomState or None, default=None
        Seed of the validation split and of the orders, each a function of it and the epoch.
    warm_start : bool, default=False
        Start from the weights of the last fit.
    verbose : int, default=0
        1 shows a progress bar.
    callbacks : callable, list of callables or None, default=None
        Each is called with every :class:`rosenblatt.training.Epoch`; returning True ends the run.
    calibrate : {"auto", "sigmoid", "isotonic"} or None, default="auto"
        What `predict_proba` is calibrated on. ``"auto"``: scores by copies of the model, fitted
        when probabilities are first asked for or the model is saved; until then it refers to the
        rows of `fit`. ``"sigmoid"`` or ``"isotonic"``: X_val, or `validation_fraction` of the rows,
        held out by `fit` (as ``"auto"`` if these are fewer than 50). None: no probabilities. See
        :class:`rosenblatt.models.calibration.Calibration`.

    Attributes
    ----------
    classes_ : array
        The labels, sorted; for an indicator matrix the numbers of its columns.
    coef_, intercept_ : arrays (n_classes, n_features) and (n_classes,)
        One row for two classes, else one per class, or per column of an indicator matrix. Views of
        the weights in use: `partial_fit` changes them in place. Not there for ``"ovo"``.
    pair_coef_, pair_intercept_ : arrays (n_pairs, n_features) and (n_pairs,)
        For ``"ovo"``, where pairs vote and no class has weights of its own: those of the pairs
        (0, 1), (0, 2), ..., (1, 2), ..., in which a positive score is one for the second class.
    n_iter_, n_updates_, t_ : int
        Epochs, updates (all classes together) and steps of the last fit; `partial_fit` adds to
        `t_`.
    threshold_, intercept_scaling_, multiclass_ : float, float and str
        What ``"auto"`` meant, or the given value; ``"labels"`` where y was an indicator matrix.
    scale_ : ColumnScale or None
        What is subtracted from each column, and the power of two that it is then multiplied by.
    history_ : History
        A record per epoch.
    stop_reason_ : str
        ``separated`` (an epoch without a mistake), ``validation``, ``stable``, ``stalled``,
        ``budget``, ``cycle`` (the weights of two epochs are equal: on integer-valued data a proof
        that no line separates the classes), or ``callback``. None after `partial_fit`.
    converged_ : bool
        Whether the reason is ``separated``.
    state_ : State
        The last weights, with the averaging sums.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    A row of weight ω is presented ω times in a row and corrected only while it is mistaken, so
    that a weight never overshoots (Karampatziakis and Langford 2011). The averaged weights have no
    mistake guarantee of their own.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rosenblatt import Perceptron
    >>> X, y = load_iris(return_X_y=True)
    >>> model = Perceptron(random_state=0).fit(X, y)
    >>> model.pair_coef_.shape, round(model.score(X, y), 3)
    ((3, 4), 0.973)

    The run of the notes: setosa against versicolor by the size of their petals, in the order of
    the file.

    >>> model = Perceptron.textbook(shuffle=False).fit(X[:100, 2:], y[:100])
    >>> model.stop_reason_, model.n_updates_, model.n_iter_
    ('separated', 4, 3)
    >>> model.coef_.round(1), model.intercept_
    (array([[0.5, 0.8]]), array([-2.]))

    Rows with several labels: a column of 0 and 1 for each.

    >>> from sklearn.datasets import make_multilabel_classification
    >>> X, Y = make_multilabel_classification(400, n_classes=4, random_state=0)
    >>> model = Perceptron(random_state=0).fit(X[:300], Y[:300])
    >>> model.predict(X[300:302])
    array([[1, 1, 1, 1],
           [0, 0, 1, 0]])
    >>> model.coef_.shape, model.score(X[300:], Y[300:])
    ((4, 20), 0.34)
    """

    _parameter_constraints = WITH_AUTO

    def __init__(
        self,
        *,
        eta0=1.0,
        learning_rate="constant",
        threshold="auto",
        mistake="margin",
        update="online",
        keep="average",
        multiclass="auto",
        fit_intercept=True,
        intercept_scaling="auto",
        scale="auto",
        feature_rates=None,
        shuffle=True,
        max_iter=1000,
        tol="auto",
        early_stopping=False,
        validation_fraction=0.1,
        n_iter_no_change="auto",
        class_weight=None,
        n_jobs=None,
        random_state=None,
        warm_start=False,
        verbose=0,
        callbacks=None,
        calibrate="auto",
    ) -> None:
        self.eta0 = eta0
        self.learning_rate = learning_rate
        self.threshold = threshold
        self.mistake = mistake
        self.update = update
        self.keep = keep
        self.multiclass = multiclass
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.scale = scale
        self.feature_rates = feature_rates
        self.shuffle = shuffle
        self.max_iter = max_iter
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.callbacks = callbacks
        self.calibrate = calibrate

    @classmethod
    def textbook(cls, **options) -> Self:
        """The algorithm of the notes: no threshold, last weights, padding 1, one against the rest.

        It also runs longer: as the last weights keep moving, ``tol=1e-3, n_iter_no_change=5``.

        Parameters
        ----------
        options
            Any parameters; they replace these.

        Returns
        -------
        model : Perceptron
            Not fitted yet.

        Examples
        --------
        >>> Perceptron.textbook(shuffle=False).fit([[2.0, 1.0], [-1.0, 1.0]], [1, 0]).coef_
        array([[3., 0.]])
        """
        notes = {
            "threshold": 0.0,
            "keep": "last",
            "multiclass": "ovr",
            "intercept_scaling": 1.0,
            "scale": None,
            "tol": 1e-3,
            "n_iter_no_change": 5,
        }
        return cls(**{**notes, **options})

    def certificate(self, X, y):
        """What the run that was fitted on these rows proves, at the cost of a few passes.

        The number of mistakes with every bound that applies, an interval for the largest margin
        (both for the columns as scaled by `scale_`),
        and a verdict: ``separable`` if the weights get every row right, ``inseparable`` if the run
        returned to earlier weights and the corrections in between add up to exactly zero, else
        ``undecided``. :func:`rosenblatt.certify` decides every case.

        Parameters
        ----------
        X, y
            The rows and labels of two classes that the model was fitted on.

        Returns
        -------
        certificate : RunCertificate

        Examples
        --------
        >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1]
        >>> certificate = Perceptron.textbook(shuffle=False, tol=None).fit(X, y).certificate(X, y)
        >>> certificate.verdict, certificate.updates <= certificate.bounds[0].value
        ('separable', True)
        """
        from rosenblatt import theory

        check_is_fitted(self)
        two = len(self.classes_) == 2 and self.multiclass_ != "labels"
        if not two or self.update != "online" or self.learning_rate != "constant":
            raise ValueError(
                "Mistake bounds are defined for two classes, online updates and a constant "
                "learning rate. Use rosenblatt.certify, which needs the data alone."
            )
        if self._square.total > 0 or self._running is not None:  # changed from row to row
            raise ValueError(
                "Mistake bounds are defined for one threshold, but partial_fit estimated "
                "threshold='auto' or scale='auto' as the rows came. Give threshold and "
                "intercept_scaling as numbers and scale=None, or use fit."
            )
        certificate = theory.run_certificate(
            X if self.scale_ is None else self.scale_.rows(self._checked_rows(X)),
            y,
            self.state_.weights[0],
            float(self.state_.bias[0]),
            updates=self.n_updates_,
            eta=float(self.eta0),
            threshold=self.threshold_,
            fit_intercept=self.fit_intercept,
            padding=self.intercept_scaling_,
        )
        if certificate.separable and self.scale_ is not None:  # is it so for the rows as given?
            weights, bias = self.scale_.fold(self.state_.weights, self.state_.bias)
            exact = theory.run_certificate(X, y, weights[0], float(bias[0]), updates=0)
            certificate = replace(certificate, verdict=exact.verdict)
        if self.history_.row_updates is None:
            return certificate
        try:
            theory.cycle_certificate(
                X, y, self.history_.row_updates, fit_intercept=self.fit_intercept
            )
        except ValueError:  # the weights are equal by rounding only
            return certificate
        return replace(certificate, verdict="inseparable")
