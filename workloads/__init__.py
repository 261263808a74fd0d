"""What is computed: framework-neutral workloads. Every module without an underscore is one."""

from workloads._spec import ArraySpec as ArraySpec
from workloads._spec import Cost as Cost
from workloads._spec import Deviation as Deviation
from workloads._spec import Training as Training
from workloads._spec import Workload as Workload
from workloads._written_port import drawn_examples as drawn_examples
from workloads._written_port import drawn_weights as drawn_weights
