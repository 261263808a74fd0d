"""What a framework's compiler does up to a limit and not beyond: one file a theme, its twins by the same name."""
