"""Element-wise functions as formulas over verbs: exp, tanh, …, their coefficients, and the numbering of registers."""
