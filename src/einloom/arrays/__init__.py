"""The one border for arrays: regions of memory, what may be done with them, how arrays come in and go out."""
