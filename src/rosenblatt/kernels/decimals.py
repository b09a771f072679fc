"""Decimal numbers in text, parsed to the nearest doubles."""

from __future__ import annotations

import numpy as np

from rosenblatt.kernels.jit import inlined, kernel

_TENS = 10.0 ** np.arange(23)
_LOWEST, _HIGHEST = -342, 308  # powers of ten beyond which any 64 bits are zero or infinite


def _power_of_five(q: int) -> tuple[int, int]:
    """The first 128 bits of ``5^q`` in two halves; rounded up where ``w·5^q`` can be half-way."""
    power = 5 ** abs(q)
    bits = power if q >= 0 else (1 << (2 * power.bit_length() + 128)) // power
    bits = (bits << 128 >> bits.bit_length()) + (-27 <= q < 0)
    return bits >> 64, bits & ((1 << 64) - 1)


_FIVES = np.array([_power_of_five(q) for q in range(_LOWEST, _HIGHEST + 1)], dtype=np.uint64)


@kernel
def number(data, i, end):
    """Parse a decimal number at i: its value, the index of its end, whether there is one."""
    negative = False
    if i < end and (data[i] == 45 or data[i] == 43):
        negative = data[i] == 45
        i += 1
    mantissa = np.uint64(0)
    power = 0
    digits = 0
    dropped = False
    fraction = False
    while i < end:
        d = np.int64(data[i]) - 48
        if 0 <= d <= 9:
            digits += 1
            if mantissa < np.uint64(1844674407370955160):
                mantissa = mantissa * np.uint64(10) + np.uint64(d)
                power -= fraction
            else:
                power += not fraction
                dropped |= d > 0
        elif data[i] == 46 and not fraction:
            fraction = True
        else:
            break
        i += 1
    if digits == 0:
        return 0.0, i, False
    if i < end and (data[i] == 101 or data[i] == 69):
        exponent, i, good = _exponent(data, i + 1, end)
        if not good:
            return 0.0, i, False
        power += exponent
    if mantissa <= np.uint64(1 << 53) and -22 <= power <= 22:
        # A product or quotient of two exact numbers is the nearest there is.
        value = np.float64(mantissa)
        value = value * _TENS[power] if power >= 0 else value / _TENS[-power]
    else:
        value = _nearest(mantissa, power, dropped)
    return -value if negative else value, i, True


@kernel
def _exponent(data, i, end):
    """The exponent of a number, the index of its end, whether there is one."""
    sign = 1
    if i < end and (data[i] == 45 or data[i] == 43):
        sign = -1 if data[i] == 45 else 1
        i += 1
    start, exponent = i, 0
    while i < end and 48 <= data[i] <= 57:
        exponent = exponent * 10 + np.int64(data[i]) - 48
        exponent = exponent if exponent < 100000 else 100000
        i += 1
    return sign * exponent, i, i > start


@kernel
def _nearest(w, q, dropped):
    """The double nearest to ``w·10^q``, by one product with the first 128 bits of ``5^q``.

    That suffices for every w of 64 bits (D. Lemire (2021), Number parsing at a gigabyte per second;
    N. Mushtak, D. Lemire (2023), Fast number parsing without fallback). If further digits were
    dropped, the number lies between w and w + 1: of their two doubles, one step apart if they are
    not the same, the larger is chosen.
    """
    if w == 0 or q < _LOWEST:
        return 0.0
    if q > _HIGHEST:
        return np.inf
    w += np.uint64(dropped)
    shift = np.uint64(0)
    while w >> np.uint64(63) == 0:
        w <<= np.uint64(1)
        shift += np.uint64(1)
    high, low = _product(w, _FIVES[q - _LOWEST, 0])
    if high & np.uint64(0x1FF) == 0x1FF:
        carry, _ = _product(w, _FIVES[q - _LOWEST, 1])
        low += carry
        high += np.uint64(low < carry)
    top = high >> np.uint64(63)
    mantissa = high >> (top + np.uint64(9))
    exponent = ((217706 * q) >> 16) + 63 + np.int64(top) - np.int64(shift) + 1023
    if exponent <= 0:  # less than the smallest normal number
        if exponent < -62:
            return 0.0
        mantissa >>= np.uint64(1 - exponent)
        exponent = 0
    elif (
        low <= 1
        and -4 <= q <= 23
        and mantissa & np.uint64(3) == 1
        and mantissa << (top + np.uint64(9)) == high
    ):
        mantissa &= ~np.uint64(1)  # half-way between two doubles: to the even one
    mantissa = (mantissa + (mantissa & np.uint64(1))) >> np.uint64(1)
    # A mantissa that was rounded up to the next power of two carries into the exponent by itself.
    biased = np.uint64(exponent - 1 if exponent > 0 else 0)
    bits, infinity = (biased << np.uint64(52)) + mantissa, np.uint64(0x7FF0000000000000)
    return np.uint64(bits if bits < infinity else infinity).view(np.float64)


@inlined
def _product(a, b):
    """The two halves of the 128 bits of a product."""
    half, ones = np.uint64(32), np.uint64(0xFFFFFFFF)
    low = (a & ones) * (b & ones)
    one = (a >> half) * (b & ones) + (low >> half)
    other = (a & ones) * (b >> half) + (one & ones)
    return (a >> half) * (b >> half) + (one >> half) + (other >> half), a * b
