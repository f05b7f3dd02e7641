"""Stores that the processes of a fleet share."""
