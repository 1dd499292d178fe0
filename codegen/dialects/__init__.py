"""The languages that kernels are printed in: a table of spellings each (printer.Dialect)."""
