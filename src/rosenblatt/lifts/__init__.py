"""Lifts."""
