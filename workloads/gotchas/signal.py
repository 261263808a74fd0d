"""Windows, spectra and cosine transforms: which windows, which scale, which axes."""

from workloads.core.spec import ArraySpec
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
        tf="tf.abs(tf.signal.stft(x, 8, 4)) ** 2",
        jax="_power(signal.stft(x, 8, 4))",
        naive="_power(jax.scipy.signal.stft(x, nperseg=8, noverlap=4)[2])",
    ),
    Gotcha(
        "stft_fft_length",
        "tf.signal.stft fills frames up to the next power of two: pass n to jnp.fft.rfft, or use jaxport.signal.stft.",
        ("tf.signal.stft", "jax.numpy.fft.rfft"), X, "structure",
        tf="tf.abs(tf.signal.stft(x, 6, 4)) ** 2",
        jax="_power(signal.stft(x, 6, 4))",
        naive="_power(jnp.fft.rfft(signal.frame(x, 6, 4) * signal.hann_window(6, x.dtype)))",
    ),
    Gotcha(
        "inverse_stft",
        "tf.signal.inverse_stft multiplies by the window again and divides by nothing, so that it inverts no stft "
        "unless told so; jax.scipy.signal.istft does.",
        ("tf.signal.inverse_stft", "jax.scipy.signal.istft"), X, "semantics",
        tf="tf.signal.inverse_stft(tf.signal.stft(x, 8, 4), 8, 4)",
    ),
    Gotcha(
        "hann_window",
        "TensorFlow's window is periodic, jnp.hanning symmetric: take one more and leave the last out.",
        ("tf.signal.hann_window", "jax.numpy.hanning"), BANDS, "semantics",
        tf="x * tf.signal.hann_window(8, dtype=x.dtype)",
        jax="x * signal.hann_window(8, x.dtype)",
        naive="x * jnp.hanning(8)",
    ),
    Gotcha(
        "hamming_window",
        "TensorFlow's window is periodic, jnp.hamming symmetric: take one more and leave the last out.",
        ("tf.signal.hamming_window", "jax.numpy.hamming"), BANDS, "semantics",
        tf="x * tf.signal.hamming_window(8, dtype=x.dtype)", jax="x * jnp.hamming(9)[:-1]", naive="x * jnp.hamming(8)",
    ),
    Gotcha(
        "idct",
        "Without norm='ortho' tf.signal.idct is the sum alone; jax.scipy.fft.idct divides by twice the size.",
        ("tf.signal.idct", "jax.scipy.fft.idct"), BANDS, "semantics",
        tf="tf.signal.idct(x)", jax="jax.scipy.fft.idct(x) * (2 * x.shape[-1])", naive="jax.scipy.fft.idct(x)",
    ),
    Gotcha(
        "mfcc",
        "tf.signal's first coefficient is that of HTK, sqrt(2) times the orthonormal one: use "
        "jaxport.signal.mfccs_from_log_mel_spectrograms.",
        ("tf.signal.mfccs_from_log_mel_spectrograms", "jax.scipy.fft.dct"), BANDS, "semantics",
        tf="tf.signal.mfccs_from_log_mel_spectrograms(x)",
        jax="signal.mfccs_from_log_mel_spectrograms(x)",
        naive="jax.scipy.fft.dct(x, norm='ortho')",
    ),
    Gotcha(
        "mel_weights",
        "Between its edges a triangle of tf.signal is straight in mel; one whose edges are rounded to bins of the "
        "spectrum has other weights: use jaxport.signal.linear_to_mel_weight_matrix.",
        ("tf.signal.linear_to_mel_weight_matrix",), {"x": ArraySpec((3, 65), low=0.0, high=1.0)}, "semantics",
        tf="x @ tf.signal.linear_to_mel_weight_matrix(10, 65, 16000, dtype=x.dtype)",
    ),
    Gotcha(
        "fft3d",
        "tf.signal.fft3d transforms the last three axes, jnp.fft.fftn all of them: pass axes.",
        ("tf.signal.fft3d", "jax.numpy.fft.fftn"), VOLUMES, "semantics",
        tf="tf.math.real(tf.signal.fft3d(tf.complex(x, tf.zeros_like(x))))",
        jax="jnp.fft.fftn(x, axes=(-3, -2, -1)).real",
        naive="jnp.fft.fftn(x).real",
    ),
    Gotcha("rfft", "With a length both fill up with zeros.", ("tf.signal.rfft", "jax.numpy.fft.rfft"), X,
           tf="tf.math.real(tf.signal.rfft(x, [40]))", jax="jnp.fft.rfft(x, 40).real"),
    Gotcha("frames", "What fills no frame is left out, as by slices.", ("tf.signal.frame",), X,
           tf="tf.signal.frame(x, 8, 5)",
           jax="jnp.stack([x[:, start : start + 8] for start in range(0, 32 - 8 + 1, 5)], axis=1)"),
    Gotcha("dct", "Neither scales without a norm.", ("tf.signal.dct", "jax.scipy.fft.dct"), BANDS,
           tf="tf.signal.dct(x)", jax="jax.scipy.fft.dct(x)"),
    Gotcha("dct_ortho", "The same scale.", ("tf.signal.dct", "jax.scipy.fft.dct"), BANDS,
           tf="tf.signal.dct(x, norm='ortho')", jax="jax.scipy.fft.dct(x, norm='ortho')"),
    Gotcha("fftshift", "Both shift all axes by default.", ("tf.signal.fftshift", "jax.numpy.fft.fftshift"), VOLUMES,
           tf="tf.signal.fftshift(x)", jax="jnp.fft.fftshift(x)"),
    Gotcha("overlap_and_add", "As jaxport.signal.overlap_and_add.", ("tf.signal.overlap_and_add",), BANDS,
           tf="tf.signal.overlap_and_add(x, 5)", jax="signal.overlap_and_add(x, 5)"),
)  # fmt: skip
