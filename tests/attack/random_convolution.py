"""Random graphs with convolutions, nearly all of them matrix products, what follows them, and global pools."""

from __future__ import annotations

import numpy as np

from tests.attack.random_graph import NUMPY, joint
from tests.attack.random_move import RandomMoves


class RandomConvolutions(RandomMoves):
    """A random graph with Conv and GlobalAveragePool."""

    KINDS = RandomMoves.KINDS + tuple("convolution convolution pool".split())

    def convolution(self) -> None:
        """Of a value with one image axis or more, nearly always pointwise; what follows it also comes by chance."""
        a = self.pick("f32", "f16", rank=2)
        if a is None:
            return
        a = self.path(a) if self.r.random() < 0.3 else a
        if len(a[2]) == 2:
            more = [self.constant([0], np.int64)] if self.opset >= 13 else []
            self.add("Unsqueeze", [a[0], *more], (a[1], (1, *a[2])), **({} if more else {"axes": [0]}))
            a = self.tensors[-1]
        if not 3 <= len(a[2]) <= 4 or not isinstance(a[2][1], int):
            return
        axes, channels = len(a[2]) - 2, a[2][1]
        rows = self.r.choice((1, 3, *(d for d in self.dims if isinstance(d, int))))
        width = self.r.choice((1, 1, 1, 1, 3))
        w = self.constant(self.rng.standard_normal((rows, channels, *[width] * axes)), NUMPY[a[1]])
        more = [self.constant(self.rng.standard_normal(rows), NUMPY[a[1]])] if self.r.random() < 0.6 else []
        form = self.r.choice(({}, {"dilations": [2] * axes}, {"auto_pad": "SAME_UPPER"}, {"auto_pad": "VALID"}))
        if width > 1:
            form = {"pads": [1] * (2 * axes)}
        self.add("Conv", [a[0], w, *more], (a[1], (a[2][0], rows, *a[2][2:])), **form)
        self.channels()

    def pool(self) -> None:
        """The mean of what lies behind the first two axes, and at times what it gates."""
        if (a := self.pick("f32", "f16", rank=3)) is not None:
            mean = (*a[2][:2], *(1,) * (len(a[2]) - 2))
            self.add("GlobalAveragePool", [a[0]], (a[1], mean))
            if self.r.random() < 0.3:
                self.add("Mul", [a[0], self.tensors[-1][0]], (a[1], a[2]))

    def channels(self) -> None:
        """A value for each channel, or for each of each image, added or multiplied; at times an activation."""
        name, dtype, shape = self.tensors[-1]
        ones = (1,) * (len(shape) - 2)
        for beside in self.r.sample(((shape[1], *ones), (1, shape[1], *ones), (*shape[:2], *ones), shape), 2):
            if self.r.random() < 0.6:
                b = self.beside((name, dtype, beside))
                if joint(b[2], shape) == shape:
                    self.add(self.r.choice(("Add", "Mul")), self.r.sample([name, b[0]], 2), (dtype, shape))
                name = self.tensors[-1][0]
        if dtype == "f32" and self.r.random() < 0.5:
            self.add(self.r.choice(("Relu", "Sigmoid", "HardSigmoid")), [name], (dtype, shape))
