"""What a training run is judged by: held-out text beside simple baselines, and its heads."""
