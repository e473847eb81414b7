"""What the exhibits of every benchmark share: how numbers are printed and how figures look."""
