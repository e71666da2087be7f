//! The tensor door: Python's side of the recorder in `weft-tensor`.
