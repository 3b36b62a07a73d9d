"""What passes ask: sizes of tiles and blocks, shares of the caches, which packs pay."""
