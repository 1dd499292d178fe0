"""From a saturated window to kernels: candidate terms, joined passes, and the choice among them."""
