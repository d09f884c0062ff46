"""A vehicle with an arm picks up a marked parcel and puts it down elsewhere."""
