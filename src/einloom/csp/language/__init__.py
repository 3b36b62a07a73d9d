"""The language of spaces: text to syntax tree and back."""
