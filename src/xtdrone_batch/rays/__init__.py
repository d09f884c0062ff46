"""Cameras and lidars of a batch: packets of rays in lanes, over a hierarchy of bounding boxes."""
