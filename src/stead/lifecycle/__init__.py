"""The heart of Stead, pure: what a lifecycle is, what happens next, and proof that it can be trusted."""
