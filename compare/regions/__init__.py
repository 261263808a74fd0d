"""Two aligned programs as small regions between values that both have, so that each region is judged by itself."""
