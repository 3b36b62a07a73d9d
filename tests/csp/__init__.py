"""The constraint engine and the space language."""
