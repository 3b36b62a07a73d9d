"""What kernels are written on: registers, scalar verbs and vector verbs, one implementation an ISA."""
