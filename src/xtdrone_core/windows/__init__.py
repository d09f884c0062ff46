"""What all windows share: display, application, keys, time bar, plots and a canvas in 3D.

Qt is an extra. Only `display` works without it; import the other modules where a window is opened,
after `display.require()`.
"""
