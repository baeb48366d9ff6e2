"""Every operation of the service as a `Call`, one file a noun; both clients send these and nothing else."""
