"""Event files in the order of time: ten days, and the eleventh as the test.

The rows of the ten days are learned as they come, a file per day, and shuffled into one file: what
is held out and how numbers are scaled must not depend on the order of the files.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

from rosenblatt import train
from rosenblatt.data import open as open_data
from rosenblatt.jobs.evaluate import evaluate

DAYS, ROWS = 11, 30_000
HEADER = "id,ts,user,shop,amount,items,note,fraud"


def day_of_events(day: int, rng: np.random.Generator, rows: int) -> list[str]:
    """The lines of a day: a tenth of the amounts is missing, prices drift, nights are risky."""
    seconds = np.sort(rng.integers(0, 86_400, rows))
    shops, users = rng.integers(0, 5000, rows), rng.integers(0, 200_000, rows)
    amounts = rng.lognormal(3.0 + 0.01 * day, 1.0, rows)
    items = rng.poisson(3, rows)
    hours = seconds // 3600
    risk = -2.6 + 1.4 * (hours < 6) + 0.8 * np.log(amounts / 20) + 1.5 * (shops % 10 == 0)
    is_fraud = rng.random(rows) < 1 / (1 + np.exp(-1.5 * risk))
    words = np.array(["gift", "urgent", "order", "usual", "card", "again"])
    notes = words[rng.integers(0, 6, (rows, 3)) // np.where(is_fraud, 2, 1)[:, None]]
    start = np.datetime64("2024-07-01T00:00:00") + np.timedelta64(day, "D")
    moments = (start + seconds.astype("timedelta64[s]")).astype(str).tolist()
    is_missing = rng.random(rows) < 0.1
    return [
        f"{day * rows + i},{moments[i].replace('T', ' ')},u{users[i]},s{shops[i]},"
        f"{'' if is_missing[i] else round(amounts[i], 2)},{items[i]},{' '.join(notes[i])},"
        f"{'yes' if is_fraud[i] else 'no'}"
        for i in range(rows)
    ]


def write(path: Path, lines: list[str]) -> Path:
    """Write a CSV file."""
    path.write_text("\n".join([HEADER, *lines]) + "\n")
    return path


def main() -> None:
    """Print accuracy, recall and calibration error of both orders."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS, help="rows per day")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    print(f"{'seed':>4} {'order':>9} {'accuracy':>9} {'recall':>8} {'cal. error':>10}")
    for seed in range(options.seeds):
        rng = np.random.default_rng(seed)
        days = [day_of_events(day, rng, options.rows) for day in range(DAYS)]
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            test = write(folder / "test.csv", days[-1])
            files = [write(folder / f"day{i:02}.csv", lines) for i, lines in enumerate(days[:-1])]
            rows = [line for day in days[:-1] for line in day]
            shuffled = write(folder / "all.csv", [rows[i] for i in rng.permutation(len(rows))])
            for order, source in (("time", list(map(str, files))), ("shuffled", str(shuffled))):
                model = train(source, label="fraud")
                rows_of_test = open_data(test, features=model.features, classes=model.classes)
                result = evaluate(model, rows_of_test)
                recall = result.by_class()["yes"]["recall"]
                error = result.reliability.error if result.reliability else float("nan")
                print(f"{seed:>4} {order:>9} {result.accuracy:>9.2%} {recall:>8.2%} {error:>10.2%}")


if __name__ == "__main__":
    main()
