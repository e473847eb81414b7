"""From what readers said to numbers: one way for every benchmark.

`specs` declares and measures, `arrays` holds a run, `estimates` has the one resampling, `contrasts`
paired differences and families, `notes` what is said beside a number, `units` what it counts.
"""
