"""What checks proofs: the certificate, its file format, and a verifier of its own."""
