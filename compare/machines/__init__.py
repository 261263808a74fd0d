"""A suite on several machines: tasks of a workload and a size on the nodes of a Ray cluster, and one record of all."""
