"""The kinds of constraint: what each watches, what it does when woken, and how it explains itself."""
