"""Frames, spectra and mel scales as tf.signal has them, where jax.scipy.signal does something else."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np


def hann_window(length: int, dtype: jax.typing.DTypeLike = jnp.float32) -> jax.Array:
    """tf.signal.hann_window, which is periodic: jnp.hanning of one more, without the last.

    Args:
      length: how many values.
      dtype: of the result.
    """
    return jnp.asarray(0.5 - 0.5 * np.cos(2 * np.pi * np.arange(length) / length), dtype)


def frame(x: jax.Array, length: int, step: int) -> jax.Array:
    """tf.signal.frame: [..., n] -> [..., frames, length], without the rest that fills no frame.

    Args:
      x: [..., n], n at least length.
      length: of a frame.
      step: from the start of a frame to that of the next.
    """
    count = (x.shape[-1] - length) // step + 1
    return x[..., np.arange(count)[:, None] * step + np.arange(length)]


def overlap_and_add(frames: jax.Array, step: int) -> jax.Array:
    """tf.signal.overlap_and_add: [..., frames, length] -> [..., (frames - 1) * step + length].

    Args:
      frames: [..., frames, length].
      step: from the start of a frame to that of the next.
    """
    count, length = frames.shape[-2:]
    places = np.arange(count)[:, None] * step + np.arange(length)
    zeros = jnp.zeros((*frames.shape[:-2], (count - 1) * step + length), frames.dtype)
    return zeros.at[..., places].add(frames)


def stft(x: jax.Array, frame_length: int, frame_step: int, fft_length: int | None = None) -> jax.Array:
    """tf.signal.stft with its default window: frames times a Hann window, no padding, no scaling.

    Args:
      x: [..., n], float32 or float64.
      frame_length: of the window.
      frame_step: from frame to frame.
      fft_length: frames are filled up with zeros to it; the power of two that is not below frame_length by default.

    Returns:
      complex [..., frames, fft_length // 2 + 1].
    """
    frames = frame(x, frame_length, frame_step) * hann_window(frame_length, x.dtype)
    return jnp.fft.rfft(frames, _enclosing(frame_length) if fft_length is None else fft_length)


def inverse_stft(x: jax.Array, frame_length: int, frame_step: int, fft_length: int | None = None) -> jax.Array:
    """tf.signal.inverse_stft with its default window, which does not undo that of `stft`.

    Args:
      x: complex [..., frames, fft_length // 2 + 1].
      frame_length: of the window.
      frame_step: from frame to frame.
      fft_length: as of `stft`.

    Returns:
      [..., (frames - 1) * frame_step + frame_length].
    """
    frames = jnp.fft.irfft(x, _enclosing(frame_length) if fft_length is None else fft_length)[..., :frame_length]
    return overlap_and_add(frames * hann_window(frame_length, frames.dtype), frame_step)


def whole(parts: tuple[jax.Array, jax.Array]) -> jax.Array:
    """The complex numbers of a pair of real and imaginary parts, the form of keras.ops.

    Args:
      parts: both of one shape.
    """
    return jax.lax.complex(*parts)


def parts(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The real and the imaginary parts of complex numbers.

    Args:
      x: complex, of any shape.
    """
    return jnp.real(x), jnp.imag(x)


def linear_to_mel_weight_matrix(
    mel_bins: int, spectrum_bins: int, sample_rate: float, lower: float = 125.0, upper: float = 3800.0
) -> jax.Array:
    """tf.signal.linear_to_mel_weight_matrix: triangles between edges that are even in HTK's mel scale.

    Their sides are straight in mel, not in hertz; none is scaled by its area, and the lowest bin of the spectrum has
    no weight.

    Args:
      mel_bins: how many triangles.
      spectrum_bins: of the spectrum, from 0 to half of the sample rate.
      sample_rate: in hertz.
      lower: edge of the first triangle in hertz.
      upper: edge of the last one in hertz.

    Returns:
      f32[spectrum_bins, mel_bins].
    """
    bins = _mel(np.linspace(0, sample_rate / 2, spectrum_bins)[1:])[:, None]
    edges = np.linspace(_mel(lower), _mel(upper), mel_bins + 2)
    left, center, right = edges[:-2], edges[1:-1], edges[2:]
    weights = np.maximum(0, np.minimum((bins - left) / (center - left), (right - bins) / (right - center)))
    return jnp.asarray(np.pad(weights, ((1, 0), (0, 0))), jnp.float32)


def mfccs_from_log_mel_spectrograms(x: jax.Array) -> jax.Array:
    """tf.signal.mfccs_from_log_mel_spectrograms, as HTK: the first coefficient is sqrt(2) times the orthonormal one.

    Args:
      x: [..., mel_bins].
    """
    return (jax.scipy.fft.dct(x) * (2 * x.shape[-1]) ** -0.5).astype(x.dtype)


def _enclosing(length: int) -> int:
    return 1 << (length - 1).bit_length()


def _mel(hertz: float | np.ndarray) -> np.ndarray:
    return 1127.0 * np.log(1 + np.asarray(hertz) / 700.0)
