"""The films through VLMEvalKit: `python vlmeval_films.py FILMS.tsv BASE_URL CONNECTIONS FOLDER`."""

import sys

from vlmeval.api import OpenAIWrapper
from vlmeval.dataset.image_yorn import ImageYORNDataset
from vlmeval.inference import infer_data_job
from vlmeval.smp import get_pred_file_path, load


class Films(ImageYORNDataset):
    """Questions to be answered Yes or No, of a file on this machine."""

    def load_data(self, dataset):
        return load(FILMS)

    def post_build(self, dataset):
        pass


if __name__ == "__main__":
    FILMS, base_url, connections, folder = sys.argv[1:]
    model = OpenAIWrapper(
        model="bench",
        key="none",
        api_base=f"{base_url}/chat/completions",
        max_tokens=10,
        temperature=0,
        wait=0,
        retry=5,
    )
    films = Films(dataset="Films")
    infer_data_job(model, folder, "bench", films, api_nproc=int(connections))
    answers = get_pred_file_path(folder, "bench", "Films", use_env_format=True)
    print(films.evaluate(answers, model="exact_matching"))
