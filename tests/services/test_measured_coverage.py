"""What answers say about beliefs that are nearly the posterior given what was released."""

import numpy as np
import pytest

from app.core.decisions import SampleSet
from app.core.grids.bernoulli import bernoulli
from app.core.kinds import compile_question
from app.core.kinds.belief import POINTS
from app.core.parameters import Parameter
from app.services.reading.small_print import print_of_answer
from app.services.runtime.warm_cache import PublicRelease, PublishedRelease

THETA = Parameter("theta", 0.0, 1.0)
INTERVAL = {"estimand": {"kind": "parameter", "name": "theta"}, "utility": {"kind": "interval", "level": 0.9}}
CALIBRATED = {"view": "calibrated"}


def test_an_interval_of_a_belief_from_a_finite_chain_says_that_its_coverage_was_measured():
    samples = SampleSet([THETA], np.linspace(0.2, 0.5, POINTS)[:, None])
    question = compile_question(INTERVAL | CALIBRATED, samples.parameters, bernoulli("cured"))
    said = {}
    for measured in (None, "90 % intervals held 83 to 91 %"):
        public = PublicRelease("rel_x", "calibrated", (THETA,), 20, POINTS, bernoulli("cured"), 1.0, None, measured)
        said[measured] = print_of_answer(question, PublishedRelease(public, samples))
    assert said[None].coverage == pytest.approx(0.9, abs=1e-3)
    assert said[None].warnings == []
    nearly = said["90 % intervals held 83 to 91 %"]
    assert nearly.coverage is None
    assert [each["code"] for each in nearly.warnings] == ["approximate"]
    assert nearly.warnings[0]["detail"].endswith("90 % intervals held 83 to 91 %")
