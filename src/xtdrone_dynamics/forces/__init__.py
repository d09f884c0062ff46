"""Forces on a vehicle, as functions of one record: rotors, wings, wheels, hulls, joints."""
