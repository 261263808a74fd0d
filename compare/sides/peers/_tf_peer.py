"""The base of peers that start from TensorFlow's twin."""

from __future__ import annotations

import tensorflow as tf

from compare.sides.peers._peer import Peer
from tf_reference._session import Session
from workloads.protocol.framework import Twin


class TfPeer(Peer):
    """A peer that stages the passes of TensorFlow's own session."""

    _session: Session

    def build(self, twin: Twin) -> None:
        """The twin as TensorFlow has it."""
        tf.keras.backend.clear_session()
        self._session = Session(twin, "float32")

    def trains(self) -> bool:
        """Whether the twin has a step."""
        return self._session.model.step is not None
