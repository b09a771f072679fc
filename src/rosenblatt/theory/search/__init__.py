"""The search for proofs: floating point proposes, integers confirm."""
