"""PX4 flight logs (ULog): writing, reading and plotting."""
