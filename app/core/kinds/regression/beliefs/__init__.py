"""What may be believed given noisy moments or draws: calibrated posteriors, one file a model."""
