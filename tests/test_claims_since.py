"""What the chapter `since` says of its record, seed by seed."""

import pytest

from lookback.experiments import since
from lookback.lab import records
from lookback.since import GPT, cache_bytes

RECORD = records.load("since")
RESULTS = RECORD["results"]
OWN = str(since.LENGTHS[0])


def nats(name, length=OWN):
    return [run["nats"][str(length)] for run in RESULTS[name]["runs"]]


def gains(name):
    return RESULTS[name]["gain"]["each"]


def test_every_change_was_trained_and_has_its_weights():
    for name, config in since.CHANGES.items():
        one = RESULTS[name]
        assert len(one["runs"]) == len(one["rates"]) >= 1
        weights = sum(p.numel() for p in GPT(config).parameters())
        assert one["parameters"] == weights


def test_the_first_seed_chose_the_rate_on_the_validation_text():
    for name in since.CHANGES:
        first, *others = RESULTS[name]["runs"]
        assert len(first["attempts"]) == len(since.RATES)
        best = min(first["attempts"], key=lambda one: one["valid"])
        assert first["rate"] == best["rate"]
        for run in others:
            assert [one["rate"] for one in run["attempts"]] == [best["rate"]]


def test_turned_places_gain_most_and_nearly_all_that_today_gains():
    for mine, today in zip(gains("RoPE"), gains("today"), strict=False):
        assert mine > 0.08 and abs(today - mine) < 0.04
    for name in set(since.CHANGES) - {"RoPE", "today"}:
        assert max(gains(name)) < min(gains("RoPE")) / 2


def test_the_others_move_the_loss_by_hundredths():
    for name in ("SwiGLU", "GELU", "RMSNorm", "pre-norm"):
        assert abs(RESULTS[name]["gain"]["mean"]) < 0.03
    assert RESULTS["ALiBi"]["gain"]["mean"] > 0.015


def test_beyond_its_length_the_waves_are_lost_and_turning_bends_and_breaks():
    for short, far in zip(nats("2017"), nats("2017", 128), strict=True):
        assert far > short + 0.5
    for name in ("RoPE", "today"):
        for a, b, c in zip(
            nats(name), nats(name, 128), nats(name, 256), strict=True
        ):
            assert a + 0.05 < b < a + 0.6 and c > a + 0.7
    for short, far in zip(nats("window"), nats("window", 128), strict=True):
        assert far > short + 0.3


@pytest.mark.parametrize("length", since.LENGTHS)
def test_slopes_stay_level(length):
    for short, far in zip(nats("ALiBi"), nats("ALiBi", length), strict=True):
        assert abs(far - short) < 0.01


def test_experts_are_sorted_by_letters_and_not_by_passages():
    for run in RESULTS["experts"]["runs"]:
        first, second = run["experts"]
        assert first["letter"] > 0.7 * first["entropy"]
        assert second["letter"] > 0.25 * second["entropy"]
        for layer in (first, second):
            assert layer["passage"] < 0.02 < layer["before"] < layer["letter"]


def test_the_cache_has_its_bytes_and_saves_time():
    clock = RESULTS["clock"]
    for count in since.WRITTEN:
        one = clock[str(count)]
        kv_heads, layers = since.TODAY.kv_heads, since.TODAY.layers
        assert one["bytes"] == cache_bytes(layers, kv_heads, 16, count, 4)
    assert clock["512"]["ratio"] > clock["128"]["ratio"] > 1
    assert clock["512"]["ratio"] > 3


def test_the_loss_falls_with_weights_and_letters():
    for line in RESULTS["lines"].values():
        assert line["slope"] < -3 * line["error"] < 0
        assert len(line["points"]) >= 3
