"""Certificates, their file format, and an independent verifier."""
