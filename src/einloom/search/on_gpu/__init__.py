"""Tuning on GPUs: leaves of their spaces, measured on a device in a process apart, and their records."""
