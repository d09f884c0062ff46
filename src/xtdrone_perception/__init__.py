"""What cameras see: markers that a vehicle lands on, data sets, detection and tracking."""
