"""The laws: algebra on the left, algebra on the right, and when, how exactly and why it holds. See README.md here."""
