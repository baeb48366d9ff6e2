"""A plan as a table for somebody who has to decide something late in the day, and what to send next."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from app.core.kinds.accuracy_goal import LEVEL_DEFAULT, normal_width

Json = dict[str, Any]
WIDTH = 110


def plan_table(plan: Json) -> str:
    """The mechanism found or asked about first, then the others it was compared with."""
    precision, target = plan.get("precision"), plan.get("target") or {}
    level = precision["level"] if precision else LEVEL_DEFAULT
    headings = ("", "mechanism", "ε", "δ", "samples", "temperature", f"± at {_percent(level)}", "sd", "coverage")
    own = ("→", *_settings(plan["mechanism"], plan["cost"]["epsilon"], plan["cost"]["delta"]), *_own(plan, level))
    others = [
        (
            "",
            *_settings(each["mechanism"], each["epsilon"], plan["cost"]["delta"]),
            *_widths(_sd(each["accuracy"]), level),
            "–",
        )
        for each in plan["alternatives"]
    ]
    lines = [_headline(plan, target), "", *_table((headings, own, *others)), ""]
    lines += _notes(("why", plan["advice"]), *_accuracy_notes(plan, precision), *_check_notes(plan["check"]))
    if plan["vacuous"]:
        lines += _notes(
            ("beware", "ε is above the configured ceiling: such a release promises little and needs `force`")
        )
    return "\n".join([*lines, *_send(_body(plan))])


def _body(plan: Json) -> Json:
    groups = {name: plan[name] for name in ("by", "where") if plan.get(name)}
    body = {"model": plan["model"]} | groups | {"mechanism": plan["mechanism"]}
    if plan["check"] is None:
        return body
    return body | {"check": {name: plan["check"][name] for name in ("epsilon", "delta")}}


def _check_notes(check: Json | None) -> list[tuple[str, str]]:
    if check is None:
        return []
    ratio, share = check["noticed"]["ratio"], _percent(check["noticed"]["share"])
    seen = (
        "notices nothing up to a variance 30 ×"
        if ratio is None
        else f"notices a variance {ratio:.2g} × in {share} of cases,"
    )
    costs = f"{check['bins']} noisy counts for ε = {_figure(check['cost']['epsilon'])} by itself, included above"
    return [("check", f"{seen} what the model says: {costs}")]


def shared_table(plan: Json) -> str:
    """One row a model, in the order in which they would be released."""
    headings = ("", "model", "mechanism", "ε alone", "share", "samples", "asked", "expected ±", "sd", "coverage")
    rows = [_part(number, part) for number, part in enumerate(plan["models"], 1)]
    budget = plan["budget"]
    head = (
        f"{len(rows)} models, {plan['n']} people, ε = {_figure(budget['epsilon'])} at δ = {budget['delta']:g}"
        f"{' on the account of ' + plan['account'] if plan['account'] else ''}: "
        + ("every target is reached" if plan["reached"] else f"answers {plan['short_by']:.2f} times as wide as asked")
    )
    reads = f"after all of them the account reads ε = {_figure(plan['spent_epsilon'])}"
    ledger = f"{reads}; charges add by the {plan['filter']} filter"
    if plan["order"] is not None:
        ledger += f" at order {plan['order']:g}, or by pure ε; the ε of single releases do not add"
    notes = [("in short", plan["advice"]), ("ledger", ledger)]
    notes += [(f"why {number}", part["why"]) for number, part in enumerate(plan["models"], 1)]
    notes += _means(part["precision"] for part in plan["models"])
    return "\n".join([head, "", *_table((headings, *rows)), "", *_notes(*notes), *_send(plan["release"])])


def _part(number: int, part: Json) -> tuple[str, ...]:
    precision, target = part["precision"], part["target"]
    if target is None:
        asked = "what is left"
    elif target.get("half_width") is not None:
        asked = f"± {_figure(target['half_width'])} at {_percent(target['level'])}"
    else:
        asked = f"sd {_figure(target['sd'])}"
    mechanism = part["mechanism"]
    return (
        str(number),
        _name(part),
        mechanism["kind"],
        _figure(part["epsilon"]),
        _percent(part["share"]),
        str(mechanism.get("samples", 1)),
        asked,
        f"{_figure(precision['half_width'])} at {_percent(precision['level'])}",
        _figure(precision["sd"]),
        _coverage(precision["coverage"]),
    )


def _headline(plan: Json, target: Json) -> str:
    cost = plan["cost"]
    spends = f"ε = {_figure(cost['epsilon'])} at δ = {cost['delta']:g}"
    what = f"{_name(plan)}, {plan['n']} people: {plan['mechanism']['kind']}"
    if target.get("half_width") is not None:
        return f"{what} reaches ± {_figure(target['half_width'])} ({_percent(target['level'])} intervals) for {spends}"
    if target.get("sd") is not None:
        return f"{what} reaches an sd of {_figure(target['sd'])} for {spends}"
    fits = "" if not target else ", which fits" if target["fits"] else ", MORE THAN THE TARGET"
    return f"{what} costs {spends}{fits}"


def _own(plan: Json, level: float) -> tuple[str, str, str]:
    precision = plan.get("precision")
    if precision:
        return _figure(precision["half_width"]), _figure(precision["sd"]), _coverage(precision["coverage"])
    return (*_widths(_sd(plan["accuracy"]), level), "–")


def _settings(mechanism: Json, epsilon: float, delta: float) -> tuple[str, ...]:
    temperature = mechanism.get("temperature")
    return (
        mechanism["kind"],
        _figure(epsilon),
        f"{delta:g}",
        str(mechanism.get("samples", 1)),
        "–" if temperature is None else f"{temperature:.3g}",
    )


def _sd(accuracy: Json) -> float | None:
    """Of calibrated answers where that is known, else the error of the mean."""
    found: float | None = accuracy.get("calibrated_sd")
    return accuracy.get("total_sd") if found is None else found


def _widths(sd: float | None, level: float) -> tuple[str, str]:
    return ("–", "–") if sd is None else (_figure(normal_width(level) * sd), _figure(sd))


def _coverage(coverage: Json) -> str:
    if coverage["share"] is None:
        return "measured (see below)"
    return f"{_percent(coverage['share'])} ± {100 * coverage['standard_error']:.1f} of {coverage['releases']} simulated"


def _accuracy_notes(plan: Json, precision: Json | None) -> list[tuple[str, str]]:
    if not precision:
        return [
            (
                "sd",
                plan["accuracy"]["measure"]
                if plan["accuracy"].get("calibrated_sd") is None
                else "expected, of the calibrated posterior, averaged over the prior; intervals by the normal law",
            )
        ]
    people = "people in groups" if plan.get("by") or plan.get("where") else "people"
    least = _figure(precision["noiseless_sd"])
    limit = f"without any noise {plan['n']} {people} give an sd of {least}; no ε goes below"
    return [*_means([precision]), ("limit", limit)]


def _means(precisions: Iterable[Json]) -> list[tuple[str, str]]:
    """Each thing said once."""
    found: dict[tuple[str, str], None] = {}
    for each in precisions:
        found["figures", each["meaning"]] = None
        found["coverage", each["coverage"]["method"]] = None
    return list(found)


def _send(body: Json) -> list[str]:
    told = "To release, send to POST /v1/datasets/{id}/releases:"
    return ["", told, "  " + json.dumps(body, ensure_ascii=False)]


def _notes(*notes: tuple[str, str | None]) -> list[str]:
    """Long sentences are broken, and hang under their own beginning."""
    import textwrap

    kept = [(name, text) for name, text in notes if text]
    indent = max((len(name) for name, _ in kept), default=0) + 2
    found = []
    for name, text in kept:
        wrapped = textwrap.wrap(text, WIDTH - indent, break_long_words=False, break_on_hyphens=False)
        found += [name.ljust(indent) + wrapped[0], *(" " * indent + line for line in wrapped[1:])]
    return found


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _name(part: Json) -> str:
    """The model, and the groups it is of."""
    model, by, where = part["model"], part.get("by"), part.get("where")
    about = model.get("column") or model.get("class") or model.get("target") or ", ".join(model.get("columns") or ())
    if not about and isinstance(model.get("nodes"), dict):
        about = f"{len(model['nodes'])} nodes"
    groups = (f" by {', '.join(by)}" if by else "") + (f" where {where}" if where else "")
    return f"{model['family']} {about}".strip() + groups


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _figure(value: float) -> str:
    return f"{value:.4g}"
