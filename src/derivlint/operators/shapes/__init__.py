"""Size functions of operators: the sizes of outputs as functions of the sizes of inputs."""
