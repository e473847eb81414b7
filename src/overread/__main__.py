"""`python -m overread`: the same commands, where the script is not on the path."""

from overread.cli import main

main()
