"""Detectors: any of the YOLO and DETR families as ONNX, and a small one of our own."""
