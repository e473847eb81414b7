"""The files of the authors' scripts: predictions, summaries, and what their judges said."""
