"""The catalogue of gotchas: found by a word, shown with their code, and tried by the gates."""
