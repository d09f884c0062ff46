"""NED, FRD and MAVLink's units against ENU, FLU and SI: this package's only place for them."""
