"""Readers of what other tools write: weights and models."""
