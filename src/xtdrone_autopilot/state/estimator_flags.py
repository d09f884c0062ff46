"""Status flags and test ratios of estimators, as compile-time constants of kernels."""

# Bits of Estimator.flags.
(
    ALIGNED,
    POSITION_VALID,
    GPS_USED,
    VISION_USED,
    BARO_USED,
    MAG_USED,
    AT_REST,
    RANGE_USED,
    AIRSPEED_USED,
    SIDESLIP_USED,
) = (1 << k for k in range(10))

# Values of EKF2_HGT_REF.
HEIGHT_BY_BARO, HEIGHT_BY_GPS, HEIGHT_BY_RANGE, HEIGHT_BY_VISION = range(4)

# Columns of Estimator.test_ratios, and their indices.
TESTS = ("vel", "pos", "hgt", "baro", "mag", "vision", "range", "airspeed", "sideslip")
(
    TEST_VEL,
    TEST_POS,
    TEST_HGT,
    TEST_BARO,
    TEST_MAG,
    TEST_VISION,
    TEST_RANGE,
    TEST_AIRSPEED,
    TEST_SIDESLIP,
) = range(len(TESTS))
