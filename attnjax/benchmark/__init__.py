"""The workloads that are timed, and the programs of other engines that they are compared with."""
