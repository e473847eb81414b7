"""What is known of the conditions and cells that phantom questions are about.

Textbook facts, each true of the picture by construction; what is offered as wrong is wrong for
every condition here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

__all__ = ["CHEST", "FUNCTIONS", "HEART", "SMEAR", "WRONG", "Condition"]


class Condition(msgspec.Struct, frozen=True, kw_only=True):
    """A condition: its name, what it looks like, and what a clinician adds.

    `{side}` and `{zone}` in a look stand for where a film shows it. Each list of true statements
    goes with one sentence of reasoning.
    """

    name: str
    looks: tuple[str, ...]
    actions: tuple[str, ...]
    causes: tuple[str, ...]
    predictions: tuple[str, ...]
    symptoms: tuple[str, ...]
    action: str
    cause: str
    prediction: str
    symptom: str


CHEST: Final[Mapping[str, Condition]] = {
    "pneumothorax": Condition(
        name="pneumothorax",
        looks=(
            "A thin pleural line in the {side} apex, without vascular markings beyond it.",
            "Beyond a fine white line at the {side} apex the markings are gone and it is black.",
        ),
        actions=("Drainage with a chest tube if it is large", "Supplemental oxygen"),
        causes=("Rupture of a subpleural bleb", "Penetrating trauma"),
        predictions=("It may turn into a tension pneumothorax", "It may recur on the same side"),
        symptoms=("Sudden pleuritic pain", "Shortness of breath"),
        action="Free pleural air is let out by a tube when there is much of it; oxygen speeds its "
        "absorption.",
        cause="Air enters the pleural space when a bleb ruptures or trauma opens it.",
        prediction="Air trapped under pressure can shift the mediastinum, and recurrence on the "
        "same side is common.",
        symptom="Air between the pleural layers brings sudden pleuritic pain and breathlessness.",
    ),
    "pleural_effusion": Condition(
        name="pleural effusion",
        looks=(
            "A homogeneous white base on the {side} with a meniscus and a blunted angle.",
            "The {side} costophrenic angle is blunted under a level that climbs the lateral wall.",
        ),
        actions=("Diagnostic thoracentesis", "Treatment of the underlying disease"),
        causes=("Congestive failure of the left ventricle", "Pleural spread of a malignancy"),
        predictions=("It may compress the adjoining lobe", "It may come back after drainage"),
        symptoms=("Shortness of breath", "Dry cough"),
        action="Fluid of unknown origin is sampled by thoracentesis and its underlying disease "
        "treated.",
        cause="Fluid gathers by high venous pressure in congestive failure or by pleural "
        "malignancy.",
        prediction="Growing fluid compresses the lobe next to it and returns while its source "
        "lasts.",
        symptom="Compression by fluid leads to shortness of breath and a dry cough.",
    ),
    "pneumonia": Condition(
        name="pneumonia",
        looks=(
            "Patchy confluent opacities in the {side} {zone} zone, with ill-defined borders.",
            "Ill-defined cloudy whiteness of uneven density over the {side} {zone} zone.",
        ),
        actions=("Empirical antibiotics", "Sputum and blood cultures"),
        causes=("Streptococcus pneumoniae", "Aspiration of oral secretions"),
        predictions=("It may be complicated by an empyema", "It may progress to sepsis"),
        symptoms=("Fever with productive cough", "Shortness of breath"),
        action="Bacterial infection is likely, so antibiotics start at once, after cultures.",
        cause="Bacteria such as Streptococcus pneumoniae reach the alveoli by droplets or "
        "aspiration.",
        prediction="Untreated infection can spread to the pleura as empyema or to the blood as "
        "sepsis.",
        symptom="Infected alveoli give fever, productive cough and shortness of breath.",
    ),
    "edema": Condition(
        name="pulmonary edema",
        looks=(
            "Symmetric perihilar haze spreading like wings, with blurred vessels on both sides.",
            "Both hila are surrounded by a butterfly-shaped haze; vessel margins are indistinct.",
        ),
        actions=("Intravenous loop diuretics", "Supplemental oxygen"),
        causes=("Acute failure of the left ventricle", "Fluid overload"),
        predictions=("It may lead to respiratory failure", "It clears within days under diuresis"),
        symptoms=("Orthopnoea", "Frothy sputum"),
        action="Removing water with a loop diuretic and giving oxygen relieves the congestion.",
        cause="High left atrial pressure or fluid overload drives water into the alveoli.",
        prediction="Flooded alveoli can end in respiratory failure; diuresis clears them in days.",
        symptom="Water in the alveoli gives orthopnoea and frothy sputum.",
    ),
    "cardiomegaly": Condition(
        name="cardiomegaly",
        looks=(
            "The cardiac silhouette is wider than half of the thorax.",
            "A cardiothoracic ratio well above one half, with clear lungs beside it.",
        ),
        actions=("Echocardiography", "Control of blood pressure"),
        causes=("Long-standing hypertension", "Dilated cardiomyopathy"),
        predictions=("It may go on to congestive failure", "It raises the risk of arrhythmia"),
        symptoms=("Breathlessness on exertion", "Ankle swelling"),
        action="The enlargement is worked up by echocardiography while blood pressure is "
        "controlled.",
        cause="Typical causes are long-standing hypertension and dilated cardiomyopathy.",
        prediction="An enlarged ventricle tends to congestive failure and arrhythmia.",
        symptom="Poor output is felt as breathlessness on exertion and swollen ankles.",
    ),
}

SMEAR: Final[Mapping[str, Condition]] = {
    "sickle": Condition(
        name="sickle cell disease",
        looks=(
            "Many crescent-shaped erythrocytes with pointed ends among normal discs.",
            "Dense, curved, pointed erythrocytes lie between round ones.",
        ),
        actions=("Hydroxyurea", "Folic acid"),
        causes=("A mutation of the beta-globin gene", "Polymerisation of haemoglobin S"),
        predictions=("It may cause painful vaso-occlusive crises", "It may damage the spleen"),
        symptoms=("Attacks of bone pain", "Fatigue"),
        action="Hydroxyurea raises fetal haemoglobin, and folic acid supports the rapid turnover.",
        cause="A beta-globin mutation makes haemoglobin S, which polymerises without oxygen.",
        prediction="Rigid cells block small vessels: vaso-occlusive crises and loss of the spleen.",
        symptom="Blocked vessels and haemolysis are felt as attacks of bone pain and fatigue.",
    ),
    "pale": Condition(
        name="iron deficiency anaemia",
        looks=(
            "Small erythrocytes with a wide central pallor and only a thin rim of colour.",
            "Microcytic, hypochromic erythrocytes: pale rings throughout.",
        ),
        actions=("Oral iron", "A search for blood loss"),
        causes=("Chronic blood loss", "Too little iron in the diet"),
        predictions=("It improves within weeks of iron replacement", "It recurs if bleeding lasts"),
        symptoms=("Fatigue", "Pallor"),
        action="Iron stores are refilled by oral iron while the source of blood loss is sought.",
        cause="Without iron, from chronic blood loss or a poor diet, little haemoglobin is made.",
        prediction="Replacement restores the count within weeks unless bleeding lasts.",
        symptom="Little haemoglobin carries little oxygen: fatigue and pallor.",
    ),
    "eosinophilia": Condition(
        name="eosinophilia",
        looks=(
            "Several leukocytes with two lobes and coarse orange granules.",
            "Most leukocytes are bilobed and packed with bright orange granules.",
        ),
        actions=("Stool examination for parasites", "A review of drugs and allergies"),
        causes=("A parasitic infection", "An allergic reaction"),
        predictions=("It settles when its trigger is removed", "If it lasts it may harm organs"),
        symptoms=("Itching", "Wheezing"),
        action="The trigger is looked for: parasites in the stool, new drugs, allergies.",
        cause="Interleukin-5 released in parasitic infection or allergy drives these cells.",
        prediction="It settles once the trigger is gone; persistent granule release harms organs.",
        symptom="Released granules irritate skin and bronchi; symptoms are itching and wheezing.",
    ),
}

HEART: Final[Mapping[str, str]] = {
    "dilated": "dilated left ventricle",
    "normal": "left ventricle of normal size",
}

FUNCTIONS: Final[Mapping[str, str]] = {
    "neutrophil": "It engulfs and kills bacteria",
    "eosinophil": "It attacks parasites and takes part in allergic reactions",
    "lymphocyte": "It makes antibodies or kills cells infected by viruses",
    "monocyte": "It enters the tissues and becomes a macrophage",
    "mitral valve": "It keeps blood from flowing back into the left atrium during systole",
}

WRONG: Final[Mapping[str, tuple[str, ...]]] = {
    "actions": ("Cataract surgery", "Appendectomy", "Laser iridotomy", "A plaster cast"),
    "causes": ("A blocked tear duct", "Gallstones", "Carpal tunnel syndrome", "Tooth decay"),
    "predictions": (
        "It certainly ends in deafness",
        "It always turns into melanoma",
        "It can only lead to kidney stones",
    ),
    "symptoms": ("Double vision", "Loss of smell", "Ringing in the ears", "Stiff fingers"),
}
