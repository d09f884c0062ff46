"""Interfaces of other libraries over a TaskBatch, one file each."""
