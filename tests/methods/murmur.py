"""The finaliser of MurmurHash3, with whole numbers: the oracle of what arrays do."""

MASK = (1 << 64) - 1


def fmix64(value):
    """The value of fmix64 for a number of 64 bits."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53, 1):
        value = (value ^ value >> 33) * factor & MASK
    return value
