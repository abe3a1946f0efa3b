"""Readers: one file for each tracker."""
