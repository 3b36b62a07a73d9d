"""From a `Launch` to the text of a kernel, in OpenCL C and in CUDA C++: one printer and a table of words for each."""
