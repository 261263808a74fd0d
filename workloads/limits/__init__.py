"""What compiles and what does not, by the documents of XLA: one file a theme, its twins by the same name."""
