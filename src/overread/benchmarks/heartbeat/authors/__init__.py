"""What reproduces the published code bit for bit, apart from what is sound."""
