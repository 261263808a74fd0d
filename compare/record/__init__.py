"""results.json, schema 1, as frozen structs: one file a section, built by those who measure, read by the pages."""
