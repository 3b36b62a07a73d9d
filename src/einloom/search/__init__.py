"""Search in implementation spaces: strategies, budgets, measured candidates, records of what was found."""
