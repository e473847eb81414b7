"""Can it follow a beating heart? End-diastole and end-systole, frame by frame."""
