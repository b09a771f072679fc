"""Tests of rosenblatt.theory: one file per source file, in the same rooms.

Source files without one, and where they are covered:

- margin/rounded_bounds.py: margin/test_max_margin.py, tests/invariants/test_certificates.py
- search/decision.py: records only; search/test_certify.py
- search/exact_alternatives.py: search/test_certify.py, search/test_exact_simplex.py
- search/exact_numbers.py: search/test_problem.py, search/test_integer_linear_algebra.py
- search/linear_program.py: search/test_certify.py, search/test_squared_hinge.py
"""
