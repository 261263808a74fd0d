"""The report: rendered from results.json, never measured.

Nothing is imported here: charts take a second to import, and most commands draw none.
"""
