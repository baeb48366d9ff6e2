import createClient from "openapi-fetch";
import type { paths } from "./schema.js";

const [baseUrl, key, release, network] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${key}` } });

const asked = await client.POST("/v1/releases/{release_id}/query", {
  params: { path: { release_id: release } },
  body: { estimand: { kind: "parameter", name: "theta" }, utility: { kind: "interval", level: 0.9 } },
});
const likely = await client.POST("/v1/releases/{release_id}/query", {
  params: { path: { release_id: network } },
  body: {
    estimand: { kind: "probability", event: { cured: true }, evidence: { arm: "drug" } },
    utility: { kind: "squared" },
  },
});
const plan = await client.POST("/v1/plans", {
  body: {
    model: { family: "bernoulli", column: "cured", prior: { alpha: 1, beta: 1 }, trim: 0.05 },
    mechanism: { kind: "baps", samples: 100, temperature: 1 },
    n: 1000,
  },
});
console.log(
  JSON.stringify({
    interval: asked.data && "response" in asked.data ? asked.data.response : undefined,
    probability: likely.data && "response" in likely.data ? likely.data.response : undefined,
    epsilon: plan.data && "cost" in plan.data ? plan.data.cost.epsilon : undefined,
    problems: [asked.error, likely.error, plan.error].filter((problem) => problem !== undefined),
  }),
);
