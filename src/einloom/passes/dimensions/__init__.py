"""The passes of seed document 000, section 5.5, as it defines them: on dimensions, each an axis and a loop."""
