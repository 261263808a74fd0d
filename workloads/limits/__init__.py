"""What compiles and what does not, by what documents of XLA say: one file a theme, its twins by the same name."""
