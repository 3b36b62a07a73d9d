"""einloom among the libraries that its users have."""
