"""The course: five chapters whose code and commands run when they are built.

The chapters are the Markdown files of ``docs/course``, shipped with the package.
:mod:`rosenblatt.course.cells` runs their blocks and adds what they print and draw;
:mod:`rosenblatt.course.site` makes pages of the result that need no network.
"""

from rosenblatt.course.site import build, built

__all__ = ["build", "built"]
