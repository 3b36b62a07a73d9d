"""The assemblers: encodings against an independent assembler, frozen vectors, labels, errors."""
