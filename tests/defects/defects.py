"""Defects somebody could make, one a promise, and where the suite is expected to notice each of them.

`make test-defects` puts them into a copy of the sources, one at a time, and runs the tests named here; a defect that passes
is a promise nobody tests. A change of the code that a defect points at changes its line here.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Defect:
    promise: str
    path: str
    before: str
    after: str
    tests: tuple[str, ...]


DEFECTS = (
    Defect(
        "charge: N samples cost N times one",
        "app/core/privacy/release_cost.py",
        "self.once.plus(self.per_sample.times(samples))",
        "self.once.plus(self.per_sample.times(max(1, samples - 1)))",
        ("tests/core/test_worked_figures.py", "tests/core/test_cost_arithmetic.py"),
    ),
    Defect(
        "filter: no charge beyond the capacity is admitted",
        "app/ledger/account.py",
        "account.spent_renyi_nano <= account.capacity_in_force_nano + spare_nano",
        "account.spent_renyi_nano <= account.capacity_in_force_nano * 101 // 100 + spare_nano",
        ("tests/ledger/test_account_filters.py",),
    ),
    Defect(
        "chain: every field of a line is part of its digest",
        "app/ledger/hash_chain.py",
        "        _vector(entry.totals),\n",
        "",
        ("tests/ledger/test_hash_chain_tampering.py",),
    ),
    Defect(
        "prefix: nothing an analyst reads depends on a later sample",
        "app/services/reading/published_release.py",
        "record.values[: reach.samples]",
        "record.values",
        ("tests/attacks/test_prefix_attack.py",),
    ),
    Defect(
        "revocation: a revoked key stops on every worker within a second",
        "app/services/people/keys.py",
        "        await keys.revoke_key(connection, key_id, runtime.clock())\n        await bump_epoch(connection)\n",
        "        await keys.revoke_key(connection, key_id, runtime.clock())\n",
        (
            "tests/services/test_watching_rights.py",
            "tests/attacks/test_stale_rights.py",
            "tests/services/test_rights_memory.py",
        ),
    ),
    Defect(
        "wipe: rows are gone once no release needs them",
        "app/services/datasets/wipe_uploads.py",
        "    await asyncio.to_thread(runtime.uploads.wipe, dataset.upload_name)\n",
        "",
        ("tests/services/test_rows_go.py", "tests/services/test_release_life.py"),
    ),
    Defect(
        "idempotency: a request repeated at the same moment is carried out once",
        "app/storage/idempotency.py",
        "    if taken:\n        return None\n",
        "    return None\n",
        ("tests/attacks/test_replayed_requests.py", "tests/api/test_repeated_requests.py"),
    ),
    Defect(
        "noise scale: noise is as wide as what is charged says",
        "app/core/noise/discrete_laplace.py",
        "return sensitivity / epsilon * (1 + 4e-12)",
        "return sensitivity / epsilon * 0.5",
        ("tests/core", "-k", "laplace"),
    ),
    Defect(
        "sensitivity: replacing a record moves two counts a node",
        "app/core/kinds/networks/mechanisms/laplace.py",
        "return 2 * unit_rows * len(model.network.nodes)",
        "return unit_rows * len(model.network.nodes)",
        ("tests/core", "-k", "noise_mechanisms or record_costs or network_contract"),
    ),
    Defect(
        "regret: the bound holds as often as its confidence says",
        "app/core/decisions/regret.py",
        "value = math.log(2 / delta) / (2 * samples)",
        "value = math.log(2 / delta) / (8 * samples)",
        ("tests/core/decisions/test_regret_bounds.py", "tests/core/decisions/test_regret_coverage.py"),
    ),
    Defect(
        "conversion: a curve becomes the ε it proves at δ, no less",
        "app/core/privacy/cost.py",
        "return math.log1p(-1 / order) - (math.log(delta) + math.log(order)) / (order - 1)",
        "return math.log1p(-1 / order) - (math.log(delta) + 2 * math.log(order)) / (order - 1)",
        ("tests/core/test_cost_arithmetic.py", "tests/core/test_worked_figures.py"),
    ),
    Defect(
        "receipt: a file names the charge that paid for it",
        "app/services/reading/receipts.py",
        '"digest": found[sequence].hex()',
        '"digest": found[sequence][::-1].hex()',
        ("tests/api/test_readings.py", "tests/api/test_downloads.py", "tests/client/test_reading.py"),
    ),
    Defect(
        "posterior cost: no neighbouring pair is further apart than charged",
        "app/core/privacy/posterior_cost.py",
        "exact = supremum_under(ceiling, (low, high), people).times(slack)",
        "exact = supremum_under(ceiling, (low, high), people).times(0.9)",
        ("tests/core/test_certified_paths.py", "tests/core/test_worked_figures.py", "tests/contracts"),
    ),
    Defect(
        "clamping: only statistics the analysis covers reach a sampler",
        "app/core/kinds/one_parameter/statistic.py",
        "    return ExactStatistic(min(max(statistic.total, rows * low), rows * high), rows)",
        "    return ExactStatistic(statistic.total, rows)",
        ("tests/attacks/test_statistic_attacks.py", "tests/core", "-k", "clamp or statistic_attacks or noisy_sum"),
    ),
    Defect(
        "sampler: every grid point is possible for every dataset",
        "app/core/grids/integer_table.py",
        "_scaled((1 - UNIFORM_SHARE) * (mass / total) + floor)",
        "_scaled(mass / total)",
        ("tests/core/test_integer_sampler.py", "tests/attacks/test_support_attack.py"),
    ),
    Defect(
        "order of effects: a release whose rows were read keeps its charge",
        "app/services/releases/end_release.py",
        '"commit" if read else "void"',
        '"void"',
        ("tests/services/test_release_life.py",),
    ),
    Defect(
        "population: a charge to a dataset is a charge to the account of its people",
        "app/services/releases/reserve_charge.py",
        "    return [own] if dataset.population is None else [dataset.population, own]\n",
        "    return [own]\n",
        ("tests/services/test_populations.py",),
    ),
    Defect(
        "clock: a release ends at a moment that follows from public numbers",
        "app/services/releases/public_moment.py",
        "        return self._slots.started_us + slot_us\n",
        "        return self._slots.started_us + elapsed_us\n",
        ("tests/services/test_public_moments.py",),
    ),
    Defect(
        "clock: rows that do not count are not there when a release reads",
        "app/sources/kept_rows.py",
        "counted_rows(connection, scan, self.unit, self.choice_key, cells)",
        "counted_rows(connection, scan, PrivacyUnit(), self.choice_key, cells)",
        ("tests/sources/test_kept_rows.py", "tests/services/test_real_clock.py"),
    ),
    Defect(
        "groups: strata cost what the dearest of them does",
        "app/core/kinds/groups/mechanism.py",
        "        tuple(max(values) for values in zip(*(cost.curve for cost in costs), strict=True)),\n",
        "        tuple(min(values) for values in zip(*(cost.curve for cost in costs), strict=True)),\n",
        ("tests/core/groups/test_group_charges.py",),
    ),
    Defect(
        "several models: all samples of every part are in the charge",
        "app/core/kinds/several/cost.py",
        "[(of(part.per_sample), part.samples) for part in parts]",
        "[(of(part.per_sample), 1) for part in parts]",
        ("tests/core/several/test_composed_cost.py",),
    ),
    Defect(
        "several models: a part that was not paid for is not read",
        "app/services/runtime/reading_rights.py",
        "readable = [(name, samples) for name, samples in self.parts if samples > 0]",
        "readable = [(name, max(samples, 1)) for name, samples in self.parts]",
        ("tests/services/test_several_models.py",),
    ),
)
