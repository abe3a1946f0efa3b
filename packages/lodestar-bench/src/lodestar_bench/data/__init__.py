"""Data of the test models: official files, found in LODESTAR_DATA or fetched with a checksum."""
