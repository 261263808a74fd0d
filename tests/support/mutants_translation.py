"""Porting errors to be planted in the translation models."""

from __future__ import annotations

from mutants import Mutant

MUTANTS = (
    Mutant("gate order", "seq2seq", "(update, reset, candidate), (up", "(reset, update, candidate), (up"),
    Mutant("no reset gate", "seq2seq", "candidate + reset * candidate_inner", "candidate + candidate_inner"),
    Mutant(
        "update the other way round",
        "seq2seq",
        "return update * state + (1 - update) * candidate",
        "return (1 - update) * state + update * candidate",
    ),
    Mutant("reading backwards not turned round", "seq2seq", "outputs[::-1, 1]", "outputs[:, 1]"),
    Mutant("state after the last word", "seq2seq", "last[1]", "last[0]"),
    Mutant("padding encoded", "seq2seq", "jnp.where(mask, gru_step(", "jnp.where(True, gru_step("),
    Mutant("padding attended to", "seq2seq", "@ score + mask_scores", "@ score"),
    Mutant("fed what is asked for", "seq2seq", "target[:, :-1]", "target[:, 1:]"),
    Mutant("mean over padding", "seq2seq", "/ words.sum()", "/ words.size", gate="gradients"),
    Mutant(
        "gradient of the constants lost",
        "seq2seq",
        "return kernels, constants,",
        "return kernels, jax.tree.map(jnp.zeros_like, constants),",
        gate="gradients",
    ),
    Mutant(
        "gradients not clipped",
        "seq2seq",
        "optax.clip_by_global_norm(seq2seq.CLIP_NORM)",
        "optax.identity()",
        gate="training",
    ),
    Mutant(
        "query and key swapped",
        "translation",
        "self.query(queries), *self.project(memory)",
        "self.key(queries), self.query(memory), self.value(memory)",
    ),
    Mutant("scores not scaled", "translation", "query * self.block.depth**-0.5", "query"),
    Mutant(
        "norm before the sublayer",
        "translation",
        "branch = sublayer(inputs)",
        "branch = sublayer(self.norm(inputs))",
    ),
    Mutant(
        "dropout not scaled up",
        "translation",
        "values * jnp.asarray(_dropout.scale(rate), values.dtype)",
        "values",
        gate="gradients",
    ),
    Mutant(
        "dropout at inference",
        "translation",
        "(source, target[:, :-1])\n",
        "(source, target[:, :-1], *draws)\n",
    ),
    Mutant(
        "later words seen",
        "translation",
        "jnp.tri(target.shape[1], dtype=bool)",
        "jnp.ones(2 * target.shape[1:], bool)",
    ),
    Mutant("embedding not scaled", "translation", "rows * self.block.width**0.5", "rows"),
    Mutant(
        "positions from one",
        "translation",
        "translation.positions(length, self.block.width)",
        "translation.positions(length + 1, self.block.width)[1:]",
    ),
    Mutant(
        "labels not smoothed",
        "translation",
        "- (1 - smoothing) * target_logits - smoothing * logits.mean(-1)",
        "- target_logits",
        gate="gradients",
    ),
    Mutant("second beta of the default", "translation", "beta_2=translation.BETA_2, ", "", gate="training"),
    Mutant("warm-up one step late", "translation", "(step + 1).astype", "step.astype", gate="training"),
    Mutant("caches of other beams", "translation_decode", 'cache.at[rows].get(mode="promise_in_bounds")', "cache"),
    Mutant("own position not seen", "translation_decode", "<= time", "< time"),
    Mutant("position of the first word", "translation_decode", "states.dtype)[state.time]", "states.dtype)[0]"),
    Mutant(
        "sentences that ended go on", "translation_decode", "jnp.where(state.ended[..., None], padding, steps)", "steps"
    ),
    Mutant("no length penalty", "translation_decode", "final.scores / ((5 + length) / 6) ** PENALTY", "final.scores"),
    Mutant("cache written too early", "translation_decode", "start_index=time,", "start_index=time - 1,"),
)
