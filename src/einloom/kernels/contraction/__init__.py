"""BRGEMM and dot products: tiles, microkernels, the sum over k, packs. The door: `kernels.emit`."""
