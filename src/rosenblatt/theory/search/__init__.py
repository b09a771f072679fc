"""What finds proofs: floating point proposes, whole numbers confirm."""
