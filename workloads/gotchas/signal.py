"""Windows, spectra and cosine transforms: which windows, which scale, which axes."""

from workloads._spec import ArraySpec
from workloads.gotchas._gotcha import Gotcha

X = {"x": ArraySpec((2, 32))}
BANDS = {"x": ArraySpec((3, 8))}
VOLUMES = {"x": ArraySpec((2, 4, 4, 4))}

GOTCHAS = (
    Gotcha(
        "stft",
        "tf.signal.stft neither pads nor scales and has frames before frequencies; jax.scipy.signal.stft does all of "
        "that: use jaxport.signal.stft.",
        ("tf.signal.stft", "jax.scipy.signal.stft"), X, "structure",
    ),
    Gotcha(
        "stft_fft_length",
        "tf.signal.stft fills frames up to the next power of two: pass n to jnp.fft.rfft, or use jaxport.signal.stft.",
        ("tf.signal.stft", "jax.numpy.fft.rfft"), X, "structure",
    ),
    Gotcha(
        "inverse_stft",
        "tf.signal.inverse_stft multiplies by the window again and divides by nothing, so that it inverts no stft "
        "unless told so; jax.scipy.signal.istft does.",
        ("tf.signal.inverse_stft", "jax.scipy.signal.istft"), X, "semantics",
    ),
    Gotcha(
        "hann_window",
        "TensorFlow's window is periodic, jnp.hanning symmetric: take one more and leave the last out.",
        ("tf.signal.hann_window", "jax.numpy.hanning"), BANDS, "semantics",
    ),
    Gotcha(
        "hamming_window",
        "TensorFlow's window is periodic, jnp.hamming symmetric: take one more and leave the last out.",
        ("tf.signal.hamming_window", "jax.numpy.hamming"), BANDS, "semantics",
    ),
    Gotcha(
        "idct",
        "Without norm='ortho' tf.signal.idct is the sum alone; jax.scipy.fft.idct divides by twice the size.",
        ("tf.signal.idct", "jax.scipy.fft.idct"), BANDS, "semantics",
    ),
    Gotcha(
        "mfcc",
        "tf.signal's first coefficient is that of HTK, sqrt(2) times the orthonormal one: use "
        "jaxport.signal.mfccs_from_log_mel_spectrograms.",
        ("tf.signal.mfccs_from_log_mel_spectrograms", "jax.scipy.fft.dct"), BANDS, "semantics",
    ),
    Gotcha(
        "mel_weights",
        "Between its edges a triangle of tf.signal is straight in mel; one whose edges are rounded to bins of the "
        "spectrum has other weights: use jaxport.signal.linear_to_mel_weight_matrix.",
        ("tf.signal.linear_to_mel_weight_matrix",), {"x": ArraySpec((3, 65), low=0.0, high=1.0)}, "semantics",
    ),
    Gotcha(
        "fft3d",
        "tf.signal.fft3d transforms the last three axes, jnp.fft.fftn all of them: pass axes.",
        ("tf.signal.fft3d", "jax.numpy.fft.fftn"), VOLUMES, "semantics",
    ),
    Gotcha("rfft", "With a length both fill up with zeros.", ("tf.signal.rfft", "jax.numpy.fft.rfft"), X),
    Gotcha("frames", "What fills no frame is left out, as by slices.", ("tf.signal.frame",), X),
    Gotcha("dct", "Neither scales without a norm.", ("tf.signal.dct", "jax.scipy.fft.dct"), BANDS),
    Gotcha("dct_ortho", "The same scale.", ("tf.signal.dct", "jax.scipy.fft.dct"), BANDS),
    Gotcha("fftshift", "Both shift all axes by default.", ("tf.signal.fftshift", "jax.numpy.fft.fftshift"), VOLUMES),
    Gotcha("overlap_and_add", "As jaxport.signal.overlap_and_add.", ("tf.signal.overlap_and_add",), BANDS),
)  # fmt: skip
