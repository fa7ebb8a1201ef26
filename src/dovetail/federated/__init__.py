"""Federated computation: a server and clients that keep their data; see docs/federated.md."""

from dovetail.federated import flower as flower
from dovetail.federated.algorithms import adam_state as adam_state
from dovetail.federated.algorithms import fed_adam as fed_adam
from dovetail.federated.algorithms import fed_avg as fed_avg
from dovetail.federated.algorithms import fed_prox as fed_prox
from dovetail.federated.computations import Computation as Computation
from dovetail.federated.placement import CLIENTS as CLIENTS
from dovetail.federated.placement import SERVER as SERVER
from dovetail.federated.placement import FederatedType as FederatedType
from dovetail.federated.placement import federated_broadcast as federated_broadcast
from dovetail.federated.placement import federated_map as federated_map
from dovetail.federated.placement import federated_mean as federated_mean
from dovetail.federated.placement import federated_sum as federated_sum
from dovetail.federated.server import Server as Server
from dovetail.federated.tracing import computation as computation
from dovetail.federated.worker import join as join
