"""Fourier sums, short-time spectra and mel bands against NumPy and PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tang_egg as te
from tests.library_values import declared, refused, value

RNG = np.random.default_rng(17)


def parts(z: Any) -> Any:
    """Complex numbers as a last axis of two."""
    return np.stack([z.real, z.imag], -1)


def near(found: Any, wanted: Any) -> None:
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-10 * max(1.0, float(np.abs(wanted).max())))


@pytest.mark.parametrize("n", [1, 2, 7, 16])
@pytest.mark.parametrize("length", [None, 5, 19])
def test_dft_of_real_numbers(n: int, length: int | None) -> None:
    x = RNG.normal(size=(3, n, 2))
    (i,) = declared(x=x)
    near(value(te.dft(i, 1, length=length), x=x), parts(np.fft.fft(x, length, 1)))
    near(value(te.dft(i, 1, length=length, onesided=True), x=x), parts(np.fft.rfft(x, length, 1)))
    near(value(te.dft(i, 1, length=length, inverse=True), x=x), parts(np.fft.ifft(x, length, 1)))


@pytest.mark.parametrize("inverse", [False, True])
def test_dft_of_complex_numbers(inverse: bool) -> None:
    z = RNG.normal(size=(3, 5)) + 1j * RNG.normal(size=(3, 5))
    x = parts(z)
    wanted = np.fft.ifft(z, axis=0) if inverse else np.fft.fft(z, axis=0)
    near(value(te.dft(*declared(x=x), 0, inverse=inverse, complex_input=True), x=x), parts(wanted))
    near(value(te.dft(*declared(x=x), complex_input=True), x=x), parts(np.fft.fft(z)))


def test_dft_over_a_symbolic_extent() -> None:
    n = te.dim("n", lo=1)
    x = RNG.normal(size=10)
    near(value(te.dft(te.input("x", (2 * n,)), onesided=True), x=x), parts(np.fft.rfft(x)))
    near(value(te.dft(te.input("x", (n,)), length=7), x=x), parts(np.fft.fft(x, 7)))


@pytest.mark.parametrize(
    ("n", "frame", "hop", "center"), [(23, 8, 3, False), (23, 7, 5, True), (8, 8, 1, False), (9, 4, 2, True)]
)
@pytest.mark.parametrize("onesided", [True, False])
def test_stft(n: int, frame: int, hop: int, center: bool, onesided: bool) -> None:
    torch = pytest.importorskip("torch")
    x, w = RNG.normal(size=(2, n)), RNG.random(frame)
    i, window = declared(x=x, w=w)
    found = value(te.stft(i, frame, hop, window, onesided=onesided, center=center), x=x, w=w)
    wanted = torch.stft(
        torch.from_numpy(x),
        frame,
        hop,
        window=torch.from_numpy(w),
        center=center,
        onesided=onesided,
        return_complex=True,
    )
    near(found, parts(wanted.numpy().swapaxes(-1, -2)))
    plain = value(te.power_spectrum(te.stft(i, frame, hop, onesided=onesided)), x=x)
    strided = np.lib.stride_tricks.sliding_window_view(x, frame, -1)[:, ::hop]
    near(plain, np.abs(np.fft.rfft(strided) if onesided else np.fft.fft(strided)) ** 2)


def mel(hertz: Any, scale: str) -> Any:
    if scale == "htk":
        return 2595 * np.log10(1 + np.asarray(hertz) / 700)
    return np.where(
        hertz < 1000, np.asarray(hertz) * 3 / 200, 15 + 27 * np.log(np.maximum(hertz, 1) / 1000) / np.log(6.4)
    )


@pytest.mark.parametrize("scale", ["htk", "slaney"])
@pytest.mark.parametrize("normalised", [False, True])
def test_mel_filterbank(scale: str, normalised: bool) -> None:
    bins, bands, rate = 65, 9, 16000.0
    grid = np.linspace(0, 8000, 2_000_001)
    corners = np.interp(np.linspace(mel(50.0, scale), mel(7000.0, scale), bands + 2), mel(grid, scale), grid)
    frequencies = np.linspace(0, rate / 2, bins)
    wanted = np.stack([np.interp(frequencies, corners[m : m + 3], [0, 1, 0]) for m in range(bands)], 1)
    if normalised:
        wanted = wanted * 2 / (corners[2:] - corners[:-2])
    bank = te.mel_filterbank(bins, bands, rate, 50.0, 7000.0, scale=scale, normalised=normalised)
    np.testing.assert_allclose(value(bank), wanted, rtol=1e-5, atol=1e-7)
    power = RNG.random((3, bins))
    np.testing.assert_allclose(value(te.linear(*declared(p=power), bank), p=power), power @ wanted, rtol=1e-5)


X, I = te.input("x", (3, 8)), te.input("i", (3, 8), "i32")  # noqa: E741
N = te.dim("n", lo=9)


@pytest.mark.parametrize(
    ("build", "what", "mend"),
    [
        (lambda: te.dft(I), "the spectrum of 'i', whose elements are i32", "convert them first"),
        (lambda: te.dft(X, 2), "'x' has no axis 2", "its axes are -2 to 1"),
        (lambda: te.dft(X, complex_input=True), "'x' has no last axis of two", "give real and imaginary part there"),
        (lambda: te.dft(te.input("z", (3, 2)), 1, complex_input=True), "'z' has no axis 1 of samples", "its axes are"),
        (lambda: te.dft(X, length=0), "0 elements", "give a whole number from 1"),
        (
            lambda: te.dft(te.input("x", (N,)), onesided=True),
            "half the spectrum of a symbolic extent n",
            "fix the extent",
        ),
        (lambda: te.stft(X, 9, 1), "frames of 9 samples, 1 apart, of 'x' with 8 samples", "give a fixed number"),
        (lambda: te.stft(X, 17, 1, center=True), "frames of 17 samples, 1 apart, of 'x' with 8", "give a fixed number"),
        (
            lambda: te.stft(te.input("x", (N,)), 4, 3),
            "frames of 4 samples, 3 apart, of 'x' with n",
            "give a fixed number",
        ),
        (lambda: te.stft(X, 4, 0), "0 samples between frames", "give a whole number from 1"),
        (lambda: te.stft(X, 4, 1, te.input("w", (5,))), "'w' has 5 elements where 4 are expected", "check the shapes"),
        (lambda: te.power_spectrum(X), "the last axis of 'x' has 8 elements where 2 are", "check the shapes"),
        (
            lambda: te.mel_filterbank(1, 3, 8000),
            "a mel filter bank of 1 bins and 3 bands on the",
            "give at least 2 bins",
        ),
        (lambda: te.mel_filterbank(9, 3, 8000, 50, 40), "mel bands from 50 to 40 Hz", "give 0 <= low < high"),
    ],
)
def test_errors(build: Callable[[], Any], what: str, mend: str) -> None:
    refused(build, what, mend, Path(__file__).name)
