"""Probe sets from the datasets people have: MIMIC, CheXpert, NIH, RSNA, or a folder and a csv.

A reader of an official dataset makes tables of films, boxes and sentences (`films.py`); the
sampling rules make cases of them; the finish adds digests and matched boxes and writes a manifest.
"""
