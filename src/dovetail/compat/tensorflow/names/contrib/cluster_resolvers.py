"""TensorFlow's names of finders of clusters: there is one process, unless `dovetail run --processes` starts more."""

from __future__ import annotations

from typing import Any

from dovetail.compat.tensorflow.entries import value


class OneProcess:
    """The jobs of a cluster, of which there are none.

    Source: `tf.train.ClusterSpec`.
    """

    jobs: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The addresses of the processes of each job: none."""
        return {}

    def __bool__(self) -> bool:
        return False


class ClusterResolver:
    """A finder of clusters, which says that this process is alone; it takes any arguments.

    Attributes:
        task_type, task_id: None, as of a process outside of clusters.
        environment: "".

    Source: `tf.distribute.cluster_resolver.ClusterResolver`.

    Example:
        >>> import dovetail.compat.tensorflow.compat.v1 as tf
        >>> cluster = tf.contrib.cluster_resolver.TPUClusterResolver("grpc://10.0.0.2", zone="us-central1-a")
        >>> cluster.master(), cluster.cluster_spec().as_dict()
        ('', {})
    """

    task_type = task_id = None
    environment = ""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def cluster_spec(self) -> OneProcess:
        """The jobs: none."""
        return OneProcess()

    def master(self, *args: Any, **kwargs: Any) -> str:
        """The target of sessions: "", this process."""
        return ""

    get_master = master

    def num_accelerators(self, *args: Any, **kwargs: Any) -> dict[str, int]:
        """The number of devices of each kind elsewhere: none."""
        return {}


_KINDS = "GCE Kubernetes Simple Slurm TFConfig TPU Union"
for _place in ("contrib.cluster_resolver", "distribute.cluster_resolver"):
    for _name in ("ClusterResolver", *(f"{kind}ClusterResolver" for kind in _KINDS.split()), "UnionResolver"):
        value(f"{_place}.{_name}", ClusterResolver)
