"""Windows and spectra in JAX."""

import jax
import jax.numpy as jnp

from jaxport import signal


def _power(spectrum: jax.Array) -> jax.Array:
    return spectrum.real**2 + spectrum.imag**2


def inverse_stft(x: jax.Array) -> jax.Array:
    return signal.inverse_stft(signal.stft(x, 8, 4), 8, 4)


def naive_inverse_stft(x: jax.Array) -> jax.Array:
    spectrum = jax.scipy.signal.stft(x, nperseg=8, noverlap=4)[2]
    return jax.scipy.signal.istft(spectrum, nperseg=8, noverlap=4)[1]


def mel_weights(x: jax.Array) -> jax.Array:
    return x @ signal.linear_to_mel_weight_matrix(10, 65, 16000)


def naive_mel_weights(x: jax.Array) -> jax.Array:
    mel = jnp.linspace(2595 * jnp.log10(1 + 125 / 700), 2595 * jnp.log10(1 + 3800 / 700), 12)
    edges = jnp.floor(129 * 700 * (10 ** (mel / 2595) - 1) / 16000)
    left, center, right = edges[:-2], edges[1:-1], edges[2:]
    bins = jnp.arange(65)[:, None]
    rising = (bins - left) / jnp.maximum(center - left, 1)
    falling = (right - bins) / jnp.maximum(right - center, 1)
    return x @ jnp.maximum(0, jnp.minimum(rising, falling))
