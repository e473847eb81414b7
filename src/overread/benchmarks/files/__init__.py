"""Files other people made, read strictly: csv tables, and the card that says who may see a set."""
