"""Optimizers: defaults, places of epsilon, what a weight decay or a schedule enters, what counts as a step."""

from workloads.core.spec import ArraySpec
from workloads.gotchas._gotcha import Gotcha

W, G = ArraySpec((8,)), ArraySpec((5, 8))
ONE = {"weights": W, "gradients": G}
SMALL = {"weights": W, "gradients": ArraySpec((5, 8), scale=1e-3)}
TINY = {"weights": W, "gradients": ArraySpec((5, 8), scale=1e-6)}
TWO = {"kernel": ArraySpec((4, 8)), "bias": W, "by_kernel": ArraySpec((5, 4, 8)), "by_bias": G}
MATRIX = {"weights": ArraySpec((6, 4)), "gradients": ArraySpec((5, 6, 4))}

GOTCHAS = (
    Gotcha(
        "adam_epsilon",
        "Keras adds epsilon to the root before the bias correction, optax after it, which is another step wherever "
        "gradients are small: use jaxport.optimizers.adam.",
        ("keras.optimizers.Adam", "optax.adam"), SMALL, "semantics",
        tf="steps(optimizers.Adam, weights, gradients, learning_rate=1e-2)",
        jax="steps(optimizers.adam(1e-2), weights, gradients)",
        naive="steps(optax.adam(1e-2, eps=1e-7), weights, gradients)",
    ),
    Gotcha(
        "adam_default_epsilon",
        "Epsilon is 1e-7 in Keras and 1e-8 in optax, and added in another place: use jaxport.optimizers.adam.",
        ("keras.optimizers.Adam", "optax.adam"), SMALL, "semantics",
        tf="steps(optimizers.Adam, weights, gradients)",
        jax="steps(optimizers.adam(1e-3), weights, gradients)",
        naive="steps(optax.adam(1e-3), weights, gradients)",
    ),
    Gotcha(
        "adam_amsgrad",
        "Keras takes the maximum of second moments as they are, optax.amsgrad of bias-corrected ones: use "
        "jaxport.optimizers.amsgrad.",
        ("keras.optimizers.Adam", "optax.amsgrad"), ONE, "semantics",
        tf="steps(optimizers.Adam, weights, gradients, learning_rate=1e-2, amsgrad=True)",
        jax="steps(optimizers.amsgrad(1e-2), weights, gradients)",
        naive="steps(optax.amsgrad(1e-2, eps=1e-7), weights, gradients)",
    ),
    Gotcha(
        "adamw_weight_decay",
        "The weight decay is 0.004 in Keras's AdamW and 1e-4 in optax.adamw: pass it, and use "
        "jaxport.optimizers.adamw.",
        ("keras.optimizers.AdamW", "optax.adamw"), ONE, "semantics",
        tf="steps(optimizers.AdamW, weights, gradients, learning_rate=1e-2)",
        jax="steps(optimizers.adamw(1e-2, 0.004), weights, gradients)",
        naive="steps(optax.adamw(1e-2), weights, gradients)",
    ),
    Gotcha(
        "adamw_exclude",
        "exclude_from_weight_decay keeps variables by name from decaying; optax.adamw decays all of them unless it has "
        "a mask.",
        ("keras.optimizers.AdamW", "optax.adamw"), TWO, "semantics",
    ),
    Gotcha(
        "nadam_momentum",
        "Keras's momentum warms up by 1 - 0.96^step / 2, that of optax.nadam is constant: use "
        "jaxport.optimizers.nadam.",
        ("keras.optimizers.Nadam", "optax.nadam"), ONE, "semantics",
        tf="steps(optimizers.Nadam, weights, gradients, learning_rate=1e-2)",
        jax="steps(optimizers.nadam(1e-2), weights, gradients)",
        naive="steps(optax.nadam(1e-2, eps=1e-7), weights, gradients)",
    ),
    Gotcha(
        "adamax_epsilon",
        "Keras adds epsilon to the largest gradient, optax.adamax to what the next gradient is compared with: use "
        "jaxport.optimizers.adamax.",
        ("keras.optimizers.Adamax", "optax.adamax"), TINY, "semantics",
        tf="steps(optimizers.Adamax, weights, gradients, learning_rate=1e-2)",
        jax="steps(optimizers.adamax(1e-2), weights, gradients)",
        naive="steps(optax.adamax(1e-2, eps=1e-7), weights, gradients)",
    ),
    Gotcha(
        "adadelta_defaults",
        "rho is 0.95 and epsilon 1e-7 in Keras, 0.9 and 1e-6 in optax.adadelta: pass both.",
        ("keras.optimizers.Adadelta", "optax.adadelta"), ONE, "semantics",
        tf="steps(optimizers.Adadelta, weights, gradients, learning_rate=1.0)",
        jax="steps(optax.adadelta(1.0, rho=0.95, eps=1e-7), weights, gradients)",
        naive="steps(optax.adadelta(1.0), weights, gradients)",
    ),
    Gotcha(
        "adagrad_accumulator",
        "The sum of squares starts at 0.1 in Keras and optax; the textbook's, and PyTorch's, starts at 0.",
        ("keras.optimizers.Adagrad", "optax.adagrad"), ONE, "semantics",
        tf="steps(optimizers.Adagrad, weights, gradients, learning_rate=1e-2)",
        jax="steps(optax.adagrad(1e-2), weights, gradients)",
        naive="steps(optax.adagrad(1e-2, initial_accumulator_value=0.0), weights, gradients)",
    ),
    Gotcha(
        "rmsprop_epsilon",
        "Epsilon is 1e-7 in Keras and 1e-8 in optax.rmsprop: pass it.",
        ("keras.optimizers.RMSprop", "optax.rmsprop"), SMALL, "semantics",
        tf="steps(optimizers.RMSprop, weights, gradients, learning_rate=1e-2)",
        jax="steps(optax.rmsprop(1e-2, eps=1e-7), weights, gradients)",
        naive="steps(optax.rmsprop(1e-2), weights, gradients)",
    ),
    Gotcha(
        "rmsprop_epsilon_place",
        "Keras adds epsilon below the root; with eps_in_sqrt=False, as in PyTorch, it is added to the root.",
        ("keras.optimizers.RMSprop", "optax.rmsprop"), SMALL, "semantics",
        tf="steps(optimizers.RMSprop, weights, gradients, learning_rate=1e-2)",
        jax="steps(optimizers.rmsprop(1e-2), weights, gradients)",
        naive="steps(optax.rmsprop(1e-2, eps=1e-7, eps_in_sqrt=False), weights, gradients)",
    ),
    Gotcha(
        "rmsprop_centered",
        "Centered, epsilon counts for more, since a variance can be 0: it is 1e-7 in Keras, 1e-8 in optax.rmsprop.",
        ("keras.optimizers.RMSprop", "optax.rmsprop"), SMALL, "semantics",
        tf="steps(optimizers.RMSprop, weights, gradients, learning_rate=1e-2, centered=True)",
        jax="steps(optimizers.rmsprop(1e-2, centered=True), weights, gradients)",
        naive="steps(optax.rmsprop(1e-2, centered=True), weights, gradients)",
    ),
    Gotcha(
        "ftrl_l2",
        "optax has no FTRL, and Keras's l2 counts twice as much as the paper's: use jaxport.optimizers.ftrl.",
        ("keras.optimizers.Ftrl",), ONE, "semantics",
        tf="steps(optimizers.Ftrl, weights, gradients, **FTRL)",
        jax="steps(optimizers.ftrl(0.1, l1=0.1, l2=0.1), weights, gradients)",
        naive="steps(_ftrl_of_the_paper(), weights, gradients)",
    ),
    Gotcha(
        "lion_weight_decay",
        "Keras's Lion has no weight decay unless told, optax.lion one of 1e-3: pass weight_decay=0.",
        ("keras.optimizers.Lion", "optax.lion"), ONE, "semantics",
        tf="steps(optimizers.Lion, weights, gradients, learning_rate=1e-2)",
        jax="steps(optax.lion(1e-2, weight_decay=0), weights, gradients)",
        naive="steps(optax.lion(1e-2), weights, gradients)",
    ),
    Gotcha(
        "adafactor_factored",
        "Keras factors every matrix, optax.adafactor from 128 rows on: pass min_dim_size_to_factor=1.",
        ("keras.optimizers.Adafactor", "optax.adafactor"), MATRIX, "semantics",
        tf="steps(optimizers.Adafactor, weights, gradients, learning_rate=1e-2)",
        jax="steps(optax.adafactor(1e-2, min_dim_size_to_factor=1), weights, gradients)",
        naive="steps(optax.adafactor(1e-2), weights, gradients)",
    ),
    Gotcha(
        "adafactor_rate",
        "Keras bounds the rate by 1 / sqrt(step), optax.adafactor does not: use jaxport.optimizers.adafactor.",
        ("keras.optimizers.Adafactor", "optax.adafactor"), ONE, "semantics",
        tf="steps(optimizers.Adafactor, weights, gradients, learning_rate=1.0)",
        jax="steps(optimizers.adafactor(1.0), weights, gradients)",
        naive="steps(optax.adafactor(1.0), weights, gradients)",
    ),
    Gotcha(
        "sgd_momentum_schedule",
        "In Keras the rate scales a gradient before it enters the trace, in optax.sgd what leaves it: use "
        "jaxport.optimizers.sgd wherever the rate changes.",
        ("keras.optimizers.SGD", "optax.sgd"), ONE, "semantics",
        tf="steps(optimizers.SGD, weights, gradients, learning_rate=HALVING, momentum=0.9)",
        jax="steps(optimizers.sgd(_halving, 0.9), weights, gradients)",
        naive="steps(optax.sgd(HALVING, 0.9), weights, gradients)",
    ),
    Gotcha(
        "sgd_nesterov_schedule",
        "As with plain momentum the rate scales a gradient before it enters the trace: use jaxport.optimizers.sgd.",
        ("keras.optimizers.SGD", "optax.sgd"), ONE, "semantics",
        tf="steps(optimizers.SGD, weights, gradients, learning_rate=HALVING, momentum=0.9, nesterov=True)",
        jax="steps(optimizers.sgd(_halving, 0.9, nesterov=True), weights, gradients)",
        naive="steps(optax.sgd(HALVING, 0.9, nesterov=True), weights, gradients)",
    ),
    Gotcha(
        "sgd_weight_decay",
        "Keras takes the decay off the weights; optax.add_decayed_weights before optax.sgd lets it into the trace: use "
        "jaxport.optimizers.with_weight_decay.",
        ("keras.optimizers.SGD", "optax.add_decayed_weights"), ONE, "semantics",
        tf="steps(optimizers.SGD, weights, gradients, learning_rate=0.1, momentum=0.9, weight_decay=0.1)",
        jax="steps(optimizers.with_weight_decay(optimizers.sgd(0.1, 0.9), 0.1, 0.1), weights, gradients)",
        naive="steps(optax.chain(optax.add_decayed_weights(0.1), optax.sgd(0.1, 0.9)), weights, gradients)",
    ),
    Gotcha(
        "weight_decay_rate",
        "Keras scales the decay by the learning rate; optax.add_decayed_weights at the end of a chain does not: use "
        "jaxport.optimizers.with_weight_decay.",
        ("keras.optimizers.RMSprop", "optax.add_decayed_weights"), ONE, "semantics",
        tf="steps(optimizers.RMSprop, weights, gradients, learning_rate=0.1, weight_decay=0.1)",
    ),
    Gotcha(
        "clipnorm",
        "Keras's clipnorm is a bound for each variable, optax.clip_by_global_norm one for all together, which is "
        "global_clipnorm: use jaxport.optimizers.clip_by_norm.",
        ("keras.Optimizer", "optax.clip_by_global_norm"), TWO, "semantics",
        tf="steps(optimizers.SGD, kernel, bias, by_kernel, by_bias, learning_rate=0.125, clipnorm=1.0)",
    ),
    Gotcha(
        "use_ema",
        "Keras's average of the weights starts as they are after the first step; optax.ema starts at 0 and corrects "
        "the bias.",
        ("keras.Optimizer", "optax.ema"), ONE, "semantics",
        tf="steps(optimizers.SGD, weights, gradients, average=True, **EMA)",
    ),
    Gotcha(
        "ema_overwrite_frequency",
        "Every so many steps Keras puts the average in the place of the weights, and trains on from there; an average "
        "that is kept beside them does not.",
        ("keras.Optimizer", "optax.ema"), ONE, "semantics",
        tf="steps(optimizers.SGD, weights, gradients, **EMA, ema_overwrite_frequency=2)",
        jax="steps(optax.chain(optax.sgd(0.1), optimizers.average_weights(0.9, 2)), weights, gradients)",
        naive="steps(optax.sgd(0.1), weights, gradients)",
    ),
    Gotcha(
        "accumulation_schedule",
        "With gradient_accumulation_steps Keras's schedule is read at the number of calls, in optax.MultiSteps at that "
        "of updates: read it at steps * update + steps - 1.",
        ("keras.Optimizer", "optax.MultiSteps"), ONE, "semantics",
        tf="steps(optimizers.SGD, weights, gradients, learning_rate=HALVING, gradient_accumulation_steps=2)",
        jax="steps(_every_second(optax.sgd(lambda update: HALVING(2 * update + 1))), weights, gradients)",
        naive="steps(_every_second(optax.sgd(HALVING)), weights, gradients)",
    ),
    Gotcha(
        "accumulation_mean",
        "Keras applies the mean of the accumulated gradients, optax.apply_every their sum: use optax.MultiSteps.",
        ("keras.Optimizer", "optax.apply_every", "optax.MultiSteps"), ONE, "semantics",
        tf="steps(optimizers.SGD, weights, gradients, learning_rate=0.1, gradient_accumulation_steps=2)",
        jax="steps(_every_second(optax.sgd(0.1)), weights, gradients)",
        naive="steps(optax.chain(optax.apply_every(2), optax.sgd(0.1)), weights, gradients)",
    ),
    Gotcha(
        "lamb_epsilon",
        "Epsilon is 1e-7 in Keras and 1e-6 in optax.lamb: pass it.",
        ("keras.optimizers.Lamb", "optax.lamb"), SMALL, "semantics",
        tf="steps(optimizers.Lamb, weights, gradients, learning_rate=1e-2)",
        jax="steps(optax.lamb(1e-2, eps=1e-7), weights, gradients)",
        naive="steps(optax.lamb(1e-2), weights, gradients)",
    ),
    Gotcha(
        "lamb_weight_decay",
        "Keras takes the decay off the weights before the step, optax.lamb adds it to the direction whose length is "
        "taken: use jaxport.optimizers.lamb.",
        ("keras.optimizers.Lamb", "optax.lamb"), ONE, "semantics",
        tf="steps(optimizers.Lamb, weights, gradients, learning_rate=1e-2, weight_decay=0.1)",
        jax="steps(optimizers.lamb(1e-2, 0.1), weights, gradients)",
        naive="steps(optax.lamb(1e-2, eps=1e-7, weight_decay=0.1), weights, gradients)",
    ),
    Gotcha(
        "muon",
        "optax's Muon corrects the bias of its trace and scales by the ratio of the sides, Keras's does neither: use "
        "jaxport.optimizers.muon.",
        ("keras.optimizers.Muon", "optax.contrib.muon"), MATRIX, "semantics",
        tf="steps(optimizers.Muon, weights, gradients, learning_rate=1e-2, weight_decay=None)",
        jax="steps(optimizers.muon(1e-2), weights, gradients)",
        naive="steps(optax.contrib.muon(1e-2), weights, gradients)",
    ),
    Gotcha(
        "schedule_free_adamw",
        "On TensorFlow Keras reads a variable that has moved already, and it weighs all steps alike while the rate "
        "warms up: use jaxport.optimizers.schedule_free_adamw.",
        ("keras.optimizers.ScheduleFreeAdamW", "optax.contrib.schedule_free_adamw"), ONE, "semantics",
        jax="steps(optimizers.schedule_free_adamw(0.1, warmup_steps=3), weights, gradients)",
        naive="steps(optax.contrib.schedule_free_adamw(0.1, warmup_steps=3), weights, gradients)",
    ),
    Gotcha(
        "loss_scale_factor",
        "Keras divides every gradient by loss_scale_factor, since it expects the loss to be scaled by it.",
        ("keras.Optimizer",), ONE, "semantics",
        tf="steps(optimizers.SGD, weights, gradients, learning_rate=0.125, loss_scale_factor=8.0)",
        jax="steps(optax.chain(optax.scale(1 / 8), optax.sgd(0.125)), weights, gradients)",
        naive="steps(optax.sgd(0.125), weights, gradients)",
    ),
    Gotcha("sgd_momentum", "At a constant rate optax.sgd is the same.", ("keras.optimizers.SGD", "optax.sgd"), ONE,
           tf="steps(optimizers.SGD, weights, gradients, learning_rate=0.1, momentum=0.9)",
           jax="steps(optax.sgd(0.1, 0.9), weights, gradients)"),
    Gotcha("sgd_nesterov", "At a constant rate optax.sgd is the same.", ("keras.optimizers.SGD", "optax.sgd"), ONE,
           tf="steps(optimizers.SGD, weights, gradients, learning_rate=0.1, momentum=0.9, nesterov=True)",
           jax="steps(optax.sgd(0.1, 0.9, nesterov=True), weights, gradients)"),
    Gotcha("sgd_schedule", "Both read a schedule at the number of steps before this one.",
           ("keras.optimizers.SGD", "optax.sgd"), ONE,
           tf="steps(optimizers.SGD, weights, gradients, learning_rate=HALVING)",
           jax="steps(optax.sgd(HALVING), weights, gradients)"),
    Gotcha("adagrad", "The same formula and defaults.", ("keras.optimizers.Adagrad", "optax.adagrad"), ONE,
           tf="steps(optimizers.Adagrad, weights, gradients, learning_rate=1e-2)",
           jax="steps(optax.adagrad(1e-2), weights, gradients)"),
    Gotcha("rmsprop_momentum", "With eps=1e-7 optax.rmsprop is the same, momentum included.",
           ("keras.optimizers.RMSprop", "optax.rmsprop"), ONE,
           tf="steps(optimizers.RMSprop, weights, gradients, learning_rate=1e-2, momentum=0.9)",
           jax="steps(optax.rmsprop(1e-2, eps=1e-7, momentum=0.9), weights, gradients)"),
    Gotcha("lion", "Without weight decay optax.lion is the same.", ("keras.optimizers.Lion", "optax.lion"), ONE,
           tf="steps(optimizers.Lion, weights, gradients, learning_rate=1e-2)",
           jax="steps(optax.lion(1e-2, weight_decay=0), weights, gradients)"),
    Gotcha("clipvalue", "optax.clip is the same.", ("keras.Optimizer", "optax.clip"), ONE,
           tf="steps(optimizers.SGD, weights, gradients, learning_rate=0.125, clipvalue=0.5)",
           jax="steps(optax.chain(optax.clip(0.5), optax.sgd(0.125)), weights, gradients)"),
    Gotcha("global_clipnorm", "optax.clip_by_global_norm is the same.",
           ("keras.Optimizer", "optax.clip_by_global_norm"), TWO,
           tf="steps(optimizers.SGD, kernel, bias, by_kernel, by_bias, learning_rate=0.125, global_clipnorm=1.0)"),
    Gotcha("gradient_accumulation", "Bias corrections count updates in both; see accumulation_schedule for rates.",
           ("keras.Optimizer", "optax.MultiSteps"), ONE,
           tf="steps(optimizers.Adam, weights, gradients, learning_rate=1e-2, gradient_accumulation_steps=2)",
           jax="steps(_every_second(optimizers.adam(1e-2)), weights, gradients)"),
)  # fmt: skip
