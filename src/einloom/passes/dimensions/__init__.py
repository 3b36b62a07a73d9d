"""The plain passes (`rules="seed"`), which know nothing of caches: on dimensions, each an axis and a loop."""
