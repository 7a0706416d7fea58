"""Where replies come from: one file a kind of backend over the seam in `base`."""
