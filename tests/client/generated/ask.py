"""What a person would write with a client that openapi-python-client generated."""

import json
import sys

from postern_generated import AuthenticatedClient
from postern_generated.api.plans import plan_release
from postern_generated.api.queries import answer_query
from postern_generated.models.bernoulli_model import BernoulliModel
from postern_generated.models.beta_prior import BetaPrior
from postern_generated.models.interval_spec import IntervalSpec
from postern_generated.models.parameter_spec import ParameterSpec
from postern_generated.models.plan import Plan
from postern_generated.models.plan_baps_mechanism import PlanBapsMechanism
from postern_generated.models.plan_body import PlanBody
from postern_generated.models.probability_spec import ProbabilitySpec
from postern_generated.models.probability_spec_event import ProbabilitySpecEvent
from postern_generated.models.probability_spec_evidence_type_0 import ProbabilitySpecEvidenceType0
from postern_generated.models.query_answer import QueryAnswer
from postern_generated.models.query_body import QueryBody
from postern_generated.models.squared_spec import SquaredSpec

base_url, key, release, network = sys.argv[1:]
client = AuthenticatedClient(base_url=base_url, token=key)
theta = ParameterSpec(kind="parameter", name="theta")
drug = ProbabilitySpecEvidenceType0.from_dict({"arm": "drug"})
cured = ProbabilitySpec(kind="probability", event=ProbabilitySpecEvent.from_dict({"cured": True}), evidence=drug)
prior = BetaPrior(alpha=1, beta=1)
asked = answer_query.sync(
    release, client=client, body=QueryBody(utility=IntervalSpec(kind="interval", level=0.9), estimand=theta)
)
likely = answer_query.sync(network, client=client, body=QueryBody(utility=SquaredSpec(kind="squared"), estimand=cured))
body = PlanBody(
    model=BernoulliModel(family="bernoulli", column="cured", prior=prior, trim=0.05),
    mechanism=PlanBapsMechanism(kind="baps", samples=100, temperature=1.0),
    n=1000,
)
plan = plan_release.sync(client=client, body=body)
answers = [each for each in (asked, likely) if isinstance(each, QueryAnswer)]
if len(answers) == 2 and isinstance(plan, Plan):
    print(
        json.dumps(
            {
                "interval": answers[0].to_dict()["response"],
                "probability": answers[1].to_dict()["response"],
                "epsilon": plan.cost.epsilon,
                "problems": [],
            }
        )
    )
else:
    sys.exit(f"not answered: {asked} {likely} {plan}")
