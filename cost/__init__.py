"""What kernels cost: a simple roofline behind the one interface that selection uses."""
