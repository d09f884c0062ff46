"""The challenges, a file each."""
