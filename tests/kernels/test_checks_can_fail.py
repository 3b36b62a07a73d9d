"""The checks of kernels see what they are there to see: verbs are broken on purpose, and the checks complain."""

from __future__ import annotations

from typing import Any

import pytest

from einloom.jit import host
from einloom.kernels.verbs.avx2 import Avx2Vectors
from einloom.kernels.verbs.avx512 import Avx512Vectors
from einloom.kernels.verbs.neon import NeonVectors
from einloom.kernels.verbs.neon_elements import NeonElements
from einloom.kernels.verbs.sve import SveVectors
from tests.isas import vectors_of_host
from tests.kernels.guarded import run_guarded
from tests.kernels.products import check_product
from tests.kernels.test_brgemm import covering_cases

CLASSES: dict[str, tuple[Any, ...]] = {
    "avx512": (Avx512Vectors,),
    "avx2": (Avx2Vectors,),
    "neon": (NeonVectors, NeonElements),
    "sve": (SveVectors, NeonElements),
}


def owner_of(vector: str, verb: str) -> Any:
    """Return the class of an ISA that has a verb, or None."""
    return next((each for each in CLASSES[host().with_vector(vector).vectors.family] if hasattr(each, verb)), None)


def one_lane_more(original: Any) -> Any:
    return lambda self, count: original(self, min(count + 1, self.lanes))


def one_lane_less(original: Any) -> Any:
    return lambda self, count: original(self, max(count - 1, 1))


def unmasked_load(original: Any) -> Any:
    return lambda self, dst, place, mask=None: original(self, dst, place)


def unmasked_store(original: Any) -> Any:
    return lambda self, place, src, mask=None, *rest: original(self, place, src, None)


def unmasked_add(original: Any) -> Any:
    return lambda self, dst, place, mask=None, temporary=None: original(self, dst, place, None, temporary)


def unmasked_row(original: Any) -> Any:
    return lambda self, first, second, mask=None: original(self, first, second)


def nothing(original: Any) -> Any:
    return lambda self, dst: None


MUTATIONS = {
    "mask: a lane more": ("mask", one_lane_more),
    "mask: a lane less": ("mask", one_lane_less),
    "load without mask": ("load", unmasked_load),
    "store without mask": ("store", unmasked_store),
    "C added without mask": ("add_memory", unmasked_add),
    "accumulators not cleared": ("zero", nothing),
    "row loaded without mask": ("load_row", unmasked_row),
    "row stored without mask": ("store_row", unmasked_row),
}


@pytest.mark.parametrize(
    ("vector", "name"),
    [(v, name) for v in vectors_of_host() for name, (verb, _) in MUTATIONS.items() if owner_of(v, verb)],
)
def test_a_broken_verb_is_seen(vector: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    verb, broken = MUTATIONS[name]
    owner = owner_of(vector, verb)
    monkeypatch.setattr(owner, verb, broken(getattr(owner, verb)))
    assert run_guarded(list(covering_cases(vector, "float32")), check_product) is not None
