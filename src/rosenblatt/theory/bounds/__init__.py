"""Bounds on mistakes, errors and risk, each with the theorem behind it."""
