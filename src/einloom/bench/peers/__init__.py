"""Who is measured: einloom and other libraries, one file each."""
