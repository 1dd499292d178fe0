"""Proofs of the law table in Rocq, and the generator of what is to be proved."""
