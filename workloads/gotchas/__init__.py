"""What TensorFlow and JAX do differently under names that look alike: one file a theme, its twins by the same name."""
