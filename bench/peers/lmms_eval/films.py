"""What films.yaml names: how lmms-eval shows a film, asks about it and scores the answer."""

from PIL import Image


def doc_to_visual(doc):
    return [Image.open(doc["image"]).convert("RGB")]


def doc_to_text(doc, lmms_eval_specific_kwargs=None):
    return doc["question"]


def process_results(doc, results):
    return {"accuracy": float(results[0].strip().lower() == doc["answer"].lower())}
