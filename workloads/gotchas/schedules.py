"""Learning rates that change: boundaries, warm-ups, restarts, and the step that a rate belongs to."""

from workloads.core.spec import ArraySpec
from workloads.gotchas._gotcha import Gotcha

STEPS = {"step": ArraySpec((24,), "int32", low=0, high=14)}
SHORT = {"step": ArraySpec((24,), "int32", low=0, high=7)}
BETWEEN = {"step": ArraySpec((24,), "int32", low=6, high=14)}
COSINE = ("keras.optimizers.schedules.CosineDecay", "optax.warmup_cosine_decay_schedule")
RESTARTS = ("keras.optimizers.schedules.CosineDecayRestarts", "optax.join_schedules", "optax.sgdr_schedule")
PIECEWISE = ("keras.optimizers.schedules.PiecewiseConstantDecay", "optax.piecewise_constant_schedule")
INVERSE = ("keras.optimizers.schedules.InverseTimeDecay",)
POLYNOMIAL = ("keras.optimizers.schedules.PolynomialDecay", "optax.polynomial_schedule")
EXPONENTIAL = ("keras.optimizers.schedules.ExponentialDecay", "optax.exponential_decay")

GOTCHAS = (
    Gotcha(
        "cosine_warmup_steps",
        "Keras's decay_steps come after the warm-up, in optax they contain it: pass warmup_steps + decay_steps.",
        COSINE, STEPS, "semantics",
        tf="_of_each(schedules.CosineDecay(0.0, 8, warmup_target=0.1, warmup_steps=4), step)",
        jax="optax.warmup_cosine_decay_schedule(0.0, 0.1, warmup_steps=4, decay_steps=4 + 8)(step)",
        naive="optax.warmup_cosine_decay_schedule(0.0, 0.1, warmup_steps=4, decay_steps=8)(step)",
    ),
    Gotcha(
        "cosine_warmup_alpha",
        "Keras's alpha is a share of the highest rate, optax's end_value a rate: pass alpha times the target.",
        COSINE, STEPS, "semantics",
        tf="_of_each(schedules.CosineDecay(0.0, 8, alpha=0.1, warmup_target=0.5, warmup_steps=4), step)",
    ),
    Gotcha(
        "cosine_warmup_first_step",
        "Keras's warm-up gives step 0 the initial rate; by (step + 1) / warmup_steps it would be one step ahead.",
        COSINE, STEPS, "semantics",
        tf="_of_each(schedules.CosineDecay(0.0, 8, warmup_target=0.1, warmup_steps=4), step)",
    ),
    Gotcha(
        "cosine_warmup_without_target",
        "Without warmup_target Keras's CosineDecay ignores warmup_steps: there is no warm-up.",
        COSINE, STEPS, "semantics",
        tf="schedules.CosineDecay(0.1, 8, warmup_steps=4)(step)",
        jax="schedules.cosine_decay(0.1, 8, warmup_steps=4)(step, jnp.float32)",
        naive="optax.warmup_cosine_decay_schedule(0.0, 0.1, warmup_steps=4, decay_steps=4 + 8)(step)",
    ),
    Gotcha(
        "cosine_restarts_length",
        "Keras's periods double unless t_mul=1: use jaxport.schedules.cosine_decay_restarts.",
        RESTARTS, BETWEEN, "semantics",
        tf="schedules.CosineDecayRestarts(0.1, 5)(step)",
        jax="schedules.cosine_decay_restarts(0.1, 5)(step, jnp.float32)",
        naive="optax.cosine_decay_schedule(0.1, 5)(step % 5)",
    ),
    Gotcha(
        "cosine_restarts_floor",
        "With m_mul the floor stays alpha times the initial rate in Keras; joined cosine decays lower it with every "
        "period: use jaxport.schedules.cosine_decay_restarts.",
        RESTARTS, STEPS, "semantics",
        tf="schedules.CosineDecayRestarts(0.1, 5, t_mul=1.0, m_mul=0.5, alpha=0.1)(step)",
    ),
    Gotcha(
        "piecewise_boundary",
        "At a boundary itself Keras's value before it holds, optax's after it: add 1 to boundaries.",
        PIECEWISE, STEPS, "semantics",
        tf="schedules.PiecewiseConstantDecay([4, 8], [1.0, 0.5, 0.25])(step)",
        jax="optax.piecewise_constant_schedule(1.0, {4 + 1: 0.5, 8 + 1: 0.5})(step)",
        naive="optax.piecewise_constant_schedule(1.0, {4: 0.5, 8: 0.5})(step)",
    ),
    Gotcha(
        "piecewise_values",
        "Keras takes rates, optax factors of the rate before: use jaxport.schedules.piecewise_constant.",
        PIECEWISE, STEPS, "semantics",
        tf="schedules.PiecewiseConstantDecay([4, 8], [0.1, 0.05, 0.01])(step)",
        jax="schedules.piecewise_constant([4, 8], [0.1, 0.05, 0.01])(step, jnp.float32)",
        naive="optax.piecewise_constant_schedule(0.1, {4 + 1: 0.05, 8 + 1: 0.01})(step)",
    ),
    Gotcha(
        "inverse_time_decay",
        "Keras counts time in decay_steps, the textbook's 1 / (1 + rate * step) in steps; optax has none: use "
        "jaxport.schedules.inverse_time_decay.",
        INVERSE, STEPS, "semantics",
        tf="schedules.InverseTimeDecay(0.1, decay_steps=4, decay_rate=0.5)(step)",
        jax="schedules.inverse_time_decay(0.1, decay_steps=4, decay_rate=0.5)(step, jnp.float32)",
        naive="0.1 / (1 + 0.5 * step)",
    ),
    Gotcha(
        "inverse_time_staircase",
        "With staircase Keras takes whole periods of decay_steps: use jaxport.schedules.inverse_time_decay.",
        INVERSE, STEPS, "semantics",
        tf="schedules.InverseTimeDecay(0.1, decay_steps=4, decay_rate=0.5, staircase=True)(step)",
        jax="schedules.inverse_time_decay(0.1, decay_steps=4, decay_rate=0.5, staircase=True)(step, jnp.float32)",
        naive="0.1 / (1 + 0.5 * step / 4)",
    ),
    Gotcha(
        "polynomial_cycle",
        "With cycle=True Keras's rate starts to fall anew, in ever longer periods; optax.polynomial_schedule stays at "
        "its end: use jaxport.schedules.polynomial_decay.",
        POLYNOMIAL, STEPS, "semantics",
        tf="schedules.PolynomialDecay(0.1, 4, end_learning_rate=0.01, power=2.0, cycle=True)(step)",
        jax="schedules.polynomial_decay(0.1, 4, end=0.01, power=2.0, cycle=True)(step, jnp.float32)",
        naive="optax.polynomial_schedule(0.1, 0.01, 2.0, 4)(step)",
    ),
    Gotcha(
        "polynomial_end",
        "Keras's PolynomialDecay ends at 1e-4 unless told, not at 0.", POLYNOMIAL, STEPS, "semantics",
        tf="schedules.PolynomialDecay(0.1, 8)(step)",
        jax="optax.linear_schedule(0.1, 1e-4, 8)(step)",
        naive="optax.linear_schedule(0.1, 0.0, 8)(step)",
    ),
    Gotcha(
        "natural_exp_decay",
        "TensorFlow 1's natural_exp_decay is exp(-rate * step), not rate^step: pass decay_rate=exp(-rate).",
        ("tf.compat.v1.train.natural_exp_decay", "optax.exponential_decay"), STEPS, "semantics",
        jax="0.1 * jnp.exp(-0.5 * step / 4)", naive="optax.exponential_decay(0.1, 4, 0.5)(step)",
    ),
    Gotcha(
        "rate_after_step",
        "optimizer.learning_rate read after a step, as when it is logged, is the rate of the next one in Keras; "
        "optax.inject_hyperparams keeps that of the step done.",
        ("keras.Optimizer", "optax.inject_hyperparams"), {"weights": ArraySpec((4,)), "gradients": ArraySpec((5, 4))},
        "semantics",
        tf="steps(optimizers.SGD, weights, gradients, rates=True, learning_rate=HALVING)",
    ),
    Gotcha("cosine_decay", "Without warm-up both have the same arguments.",
           ("keras.optimizers.schedules.CosineDecay", "optax.cosine_decay_schedule"), SHORT,
           tf="schedules.CosineDecay(0.1, 8)(step)", jax="optax.cosine_decay_schedule(0.1, 8)(step)"),
    Gotcha("cosine_decay_alpha", "In optax.cosine_decay_schedule alpha is a share of the rate, as in Keras.",
           ("keras.optimizers.schedules.CosineDecay", "optax.cosine_decay_schedule"), SHORT,
           tf="schedules.CosineDecay(0.1, 8, alpha=0.1)(step)",
           jax="optax.cosine_decay_schedule(0.1, 8, alpha=0.1)(step)"),
    Gotcha("exponential_decay", "The same formula.", EXPONENTIAL, STEPS,
           tf="schedules.ExponentialDecay(0.1, decay_steps=4, decay_rate=0.5)(step)",
           jax="optax.exponential_decay(0.1, transition_steps=4, decay_rate=0.5)(step)"),
    Gotcha("exponential_staircase", "Both take whole periods.", EXPONENTIAL, STEPS,
           tf="schedules.ExponentialDecay(0.1, decay_steps=4, decay_rate=0.5, staircase=True)(step)",
           jax="optax.exponential_decay(0.1, transition_steps=4, decay_rate=0.5, staircase=True)(step)"),
    Gotcha("polynomial_decay", "With its end given, optax.polynomial_schedule is the same.", POLYNOMIAL, STEPS,
           tf="schedules.PolynomialDecay(0.1, 8, end_learning_rate=0.01, power=2.0)(step)",
           jax="optax.polynomial_schedule(0.1, 0.01, 2.0, 8)(step)"),
)  # fmt: skip
