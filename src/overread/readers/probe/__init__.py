"""`probe:` readers: a frozen encoder and a logistic head for each finding; no words at all."""
