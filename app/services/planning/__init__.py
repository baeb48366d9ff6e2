"""What a plan says about a model of each kind, and how `auto` chooses there. A kind is a file here and a line in PLANNERS."""

from app.core.kinds import ReleaseModel, kind_of
from app.services.planning import networks, one_parameter, regression
from app.services.planning.figures import Figures, Planner, PlanQuestion

PLANNERS: dict[str, Planner] = {
    "one_parameter": Planner(one_parameter.figures, one_parameter.choose, one_parameter.settled),
    "network": Planner(networks.figures, networks.choose, networks.settled),
    "regression": Planner(regression.figures, regression.choose, regression.settled),
}


def planner_of(model: ReleaseModel) -> Planner:
    return PLANNERS[kind_of(model).name]


__all__ = ["PLANNERS", "Figures", "PlanQuestion", "Planner", "planner_of"]
